// What the page of every starter shows of a question to the user, and what a press sends.
import { Children, isValidElement, type ReactElement, type ReactNode } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import type { WaitingApproval } from "../../src/client/index.ts";
import { Approval } from "../../starters/shared/page/chat.tsx";

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

test("a press sends the whole question, so that it decides no other", () => {
  const question: WaitingApproval = { ...asked, mayHaveRun: true };
  const { card, sent } = shown(question);
  for (const { props } of buttons(card)) props.onClick?.();
  expect(sent).toEqual([
    ["approve", question],
    ["reject", question]
  ]);
});
