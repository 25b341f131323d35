// What the page of every starter, and Studio, show of a question to the user, and what a press sends.
import { Children, createElement, isValidElement, type ReactElement, type ReactNode } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { afterEach, expect, test, vi } from "vitest";
import type { WaitingApproval } from "../../src/client/index.ts";
import { ApprovalCard } from "../../examples/assistant/page/parts/approval-card.tsx";
import { DecisionsContext } from "../../examples/assistant/page/parts/decisions.ts";
import type { InboxEntry } from "../../src/features/inspection/index.ts";
import { Approval, Silence } from "../../starters/shared/page/chat.tsx";
import { Inbox } from "../../studio/inbox.tsx";
import type { ViewSource } from "../../studio/source.ts";

afterEach(() => void vi.unstubAllGlobals());

const asked: WaitingApproval = {
  callId: "c1",
  executionId: "exec_1",
  toolName: "execute",
  input: { code: "pay()" },
  inputHash: "h",
  seq: 2
};

type Props = { children?: ReactNode; onClick?: () => void };

function buttons(node: ReactNode): ReactElement<Props>[] {
  return Children.toArray(node).flatMap((child) => {
    if (!isValidElement<Props>(child)) return [];
    return child.type === "button" ? [child] : buttons(child.props.children);
  });
}

/** The card, and what its buttons sent. */
function shown(question: WaitingApproval) {
  const sent: unknown[] = [];
  const send = (decision: string) => async (decided: unknown) => void sent.push([decision, decided]);
  const card = Approval({ asked: question, approve: send("approve"), reject: send("reject") });
  return { card, words: renderToStaticMarkup(card), sent };
}

test("a call that may have run says so before it is decided, and no other does", () => {
  expect(shown({ ...asked, mayHaveRun: true }).words).toContain("may have run");
  expect(shown(asked).words).not.toContain("may have run");
});

test("the card of the demo says so too, where the question waits", () => {
  const part = { type: "tool-execute", toolCallId: "c1", state: "input-available", input: {} } as const;
  const cardOf = (question: WaitingApproval) => {
    const given = { pending: [question], approve: vi.fn(), reject: vi.fn(), calledFromCode: vi.fn() };
    const card = createElement(ApprovalCard, { part: part as never });
    return renderToStaticMarkup(createElement(DecisionsContext.Provider, { value: given }, card));
  };
  expect(cardOf({ ...asked, mayHaveRun: true })).toContain("approve it only if it did not run");
  expect(cardOf(asked)).not.toContain("did not run");
});

test("a press sends the whole question, so that it decides no other", () => {
  const question: WaitingApproval = { ...asked, mayHaveRun: true };
  const { card, sent } = shown(question);
  for (const { props } of buttons(card)) props.onClick?.();
  expect(sent).toEqual([
    ["approve", question],
    ["reject", question]
  ]);
});

test("a model that says nothing is shown with since when, and a press stops the turn", () => {
  const since = Date.UTC(2026, 10, 1, 12, 34, 56);
  let stops = 0;
  const note = Silence({ since, stop: async () => void (stops += 1) });
  expect(renderToStaticMarkup(note)).toContain(`nothing since ${new Date(since).toLocaleTimeString()}`);
  for (const { props } of buttons(note)) props.onClick?.();
  expect(stops).toBe(1);
});

test("of code that waits the call inside of it is shown, which is what the decision is about", () => {
  const descriptor = { action: "bank.pay", summary: "bank.pay", input: { to: "Eve" } };
  const { words } = shown({ ...asked, descriptor });
  expect(words).toContain("bank.pay");
  expect(words).toContain("{&quot;to&quot;:&quot;Eve&quot;}");
  expect(shown(asked).words).toContain("pay()");
});

const waiting: InboxEntry = {
  id: "exec_1",
  kind: "action",
  name: "pay",
  question: "Pay?",
  input: { text: "{}", chars: 2, isCut: false },
  risk: null,
  permissions: [],
  inputHash: "h",
  seq: null,
  mayHaveRun: false,
  askedAt: null,
  expiresAt: null,
  callId: "c1",
  isDecidable: true
};

test.each([false, true])("Studio approves only what it shows to its end (cut: %s)", (isCut) => {
  vi.stubGlobal("localStorage", { getItem: () => null });
  const entry = { ...waiting, input: { ...waiting.input, isCut } };
  const source: ViewSource = { address: "a", isFile: false, get: vi.fn(), post: vi.fn() };
  const props = { inbox: { approvals: [entry], decided: [] }, source, canWrite: true, onDecided: () => undefined };
  const words = renderToStaticMarkup(createElement(Inbox, props));
  expect(words.includes('disabled="">Approve')).toBe(isCut);
  expect(words).toContain(">Reject");
  expect(words.includes("It is too long to be shown here")).toBe(isCut);
});
