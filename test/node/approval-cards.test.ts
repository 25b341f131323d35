// What a card shows of a question to the user, on every page that has the parts, and in Studio. What a press sends is tried
// in Chromium: test/browser/parts.test.ts.
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { afterEach, expect, test, vi } from "vitest";
import type { WaitingApproval } from "../../src/client/index.ts";
import { DecisionsContext } from "../../src/client/parts/conversation/context.ts";
import { ToolCard, type ToolPart } from "../../src/client/react.ts";
import type { InboxEntry } from "../../src/features/inspection/index.ts";
import { Inbox } from "../../studio/inbox.tsx";
import type { ViewSource } from "../../studio/source.ts";

afterEach(() => void vi.unstubAllGlobals());

const asked: WaitingApproval = {
  callId: "c1",
  executionId: "exec_1",
  toolName: "pay",
  input: { to: "Ada" },
  inputHash: "h"
};

function cardOf(question: WaitingApproval, given: Partial<ToolPart> = {}): string {
  const part: ToolPart = {
    type: "tool-pay",
    toolCallId: "c1",
    state: "output-available",
    input: { to: "Ada" },
    output: { status: "paused", executionId: "exec_1" },
    ...given
  };
  const value = { pending: [question], approve: vi.fn(), reject: vi.fn(), callsOfProgram: vi.fn() };
  return renderToStaticMarkup(createElement(DecisionsContext.Provider, { value }, createElement(ToolCard, { part })));
}

test("a call that may have run says so before it is decided, and no other does", () => {
  expect(cardOf({ ...asked, mayHaveRun: true })).toContain("approve it only if it did not run");
  expect(cardOf(asked)).not.toContain("did not run");
});

test("of code that waits the call inside of it is shown, which is what the decision is about", () => {
  const descriptor = { action: "bank.pay", summary: "Pay with bank.pay", input: { to: "Eve" } };
  const words = cardOf(asked, { approvalDescriptor: descriptor });
  expect(words).toContain("Pay with bank.pay");
  expect(words).toContain("Eve</dd>");
  expect(cardOf(asked)).toContain("Ada</dd>");
});

test("a question that is no longer pending cannot be decided", () => {
  expect(cardOf(asked)).toContain(">Approve</button>");
  const later = cardOf({ ...asked, callId: "another" });
  expect(later).toContain("Decided; the outcome follows.");
  expect(later).not.toContain(">Approve</button>");
});

test.each(["approval-requested", "input-available"] as const)(
  "a call in %s asks only if it waits for a person",
  (state) => {
    const words = cardOf(asked, { state, output: undefined });
    expect(words.includes(">Approve</button>")).toBe(state === "approval-requested");
  }
);

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
