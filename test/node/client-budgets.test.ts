// The question of a budget through the client library, as the page's card asks and answers it.
import { beforeEach, expect, test, vi } from "vitest";
import { usd, type BudgetLimit } from "../../src/core/budgets.ts";
import { budgetQuestions } from "../../src/client/parts/tool/budget-question.ts";
import { reply, text, toolCall, usage } from "../../src/testing/index.ts";
import { tool } from "ai";
import { z } from "zod";
import { Network } from "./client-kit.ts";
import { open, rowsOf } from "./budgets-kit.ts";
import { linesOf } from "../kit/messages.ts";

beforeEach(() => void vi.spyOn(console, "warn").mockImplementation(() => undefined));

const ASKS: BudgetLimit = { per: { key: "ann", each: "day" }, limit: usd(10), then: "ask" };
const look = tool({ inputSchema: z.object({}), execute: () => "seen" });

test("a page is told what a turn needs, grants another amount, and the answer goes on in its place", async () => {
  const host = open(
    [
      reply(text("Let me look. "), toolCall("look", {}), usage({ input: 5_000, output: 10 })),
      reply(text("It is blue."), usage({ input: 40, output: 2 }))
    ],
    { limits: () => [ASKS], tools: () => ({ look }) }
  );
  const network = new Network(host);
  network.agent = "Spender";
  const client = network.client();
  await network.settle();
  void client.send("q");
  await network.settle();
  const questions = async () => {
    const listed = client.call("pendingApprovals" as never, [] as never);
    await network.settle();
    return budgetQuestions(await listed);
  };
  const [asked] = await questions();
  expect(asked).toMatchObject({ unit: "usd", spent: "spent $5.01 of $10.00 by ann today" });
  const { executionId = "", inputHash = "" } = asked ?? {};
  const granted = client.approve({ executionId, inputHash }, { input: { amount: 7 } });
  await network.settle();
  expect(await granted).toMatchObject({ status: "granted", unit: "usd", amount: 7 });
  await host.advance(1_000);
  await network.settle();
  expect(linesOf([...client.getSnapshot().messages])).toEqual(["user:q", "assistant:Let me look. It is blue."]);
  expect(await questions()).toEqual([]);
  expect(rowsOf(host, "SELECT amount FROM cf_budget_grants")).toEqual([{ amount: 7e9 }]);
});
