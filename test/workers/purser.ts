// A purser with a purse for the day, and hands below who spend of it: "hire 3" hires three of them.
import type { ToolSet } from "ai";
import { z } from "zod";
import { agentTool, Think, usd, type BudgetLimit } from "../../src/index.ts";
import {
  createScript,
  reply,
  scriptedModel,
  text,
  toolCall,
  usage,
  type Answer,
  type RecordedCall
} from "../../src/testing/model/index.ts";

/** In dollars, of a day. */
export const PURSE = 5;

export class Purser extends Think {
  override workspaceTools = false;
  override maxConcurrentAgentTools = 20;
  override getModel() {
    return scriptedModel(createScript(answer));
  }
  override getPrices() {
    return [{ provider: "scripted", model: "*", input: 1_000, output: 1_000 }];
  }
  override getBudgets(): BudgetLimit[] {
    const isRoot = this.parentPath.length === 0;
    return isRoot ? [{ per: { key: "ann", each: "day" }, limit: usd(PURSE), then: "ask", grant: usd(100) }] : [];
  }
  override beforeTurn() {
    return { maxOutputTokens: 300 };
  }
  override getTools(): ToolSet {
    return { hire: agentTool(Hand, { description: "Hires.", inputSchema: z.object({ task: z.string() }) }) };
  }
}

export class Hand extends Purser {
  override getTools(): ToolSet {
    return {};
  }
}

function answer({ prompt, lastUserText = "" }: RecordedCall): Answer {
  if (prompt.some(({ role }) => role === "tool")) return reply(text("All are paid."), usage({ input: 40, output: 2 }));
  const [word, count = "0"] = lastUserText.split(" ");
  if (word !== "hire") return reply(text("done"), usage({ input: 900, output: 100 }));
  const calls = Array.from({ length: Number(count) }, (_, at) =>
    toolCall("hire", { task: `task ${at}` }, { id: `c${at}` })
  );
  return reply(...calls, usage({ input: 40, output: 2 }));
}
