// Hooks that know the tools of their class, and other overrides as documentation has them. They must compile as they stand;
// running this file proves little more.
import { tool, type UIMessage } from "ai";
import { expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import {
  Think,
  type ChatResponseResult,
  type SkillRunContext,
  type ToolCallContext,
  type ToolCallDecision,
  type ToolCallResultContext,
  type TurnConfig,
  type TurnContext
} from "../../src/index.ts";

const kitchenTools = {
  findRecipe: tool({
    description: "Find a recipe.",
    inputSchema: z.object({ dish: z.string(), limit: z.number().optional() }),
    execute: async ({ dish }) => ({ dish, minutes: 20 })
  }),
  askGuest: tool({ description: "Ask the guest.", inputSchema: z.object({ question: z.string() }) }),
  throwAway: tool({
    description: "Throw leftovers away.",
    inputSchema: z.object({ item: z.string() }),
    needsApproval: true,
    execute: async ({ item }) => `${item} is gone`
  })
};

abstract class KnowsItsTools extends Think {
  override getTools() {
    return kitchenTools;
  }
  override beforeToolCall(ctx: ToolCallContext<typeof kitchenTools>): ToolCallDecision | void {
    expectTypeOf(ctx.toolName).toEqualTypeOf<"findRecipe" | "askGuest" | "throwAway">();
    if (ctx.toolName === "findRecipe") {
      expectTypeOf(ctx.input).toEqualTypeOf<{ dish: string; limit?: number | undefined }>();
      return { action: "allow", input: { ...ctx.input, limit: 1 } };
    }
    if (ctx.toolName === "throwAway") expectTypeOf(ctx.input.item).toEqualTypeOf<string>();
    expectTypeOf(ctx.signal).toEqualTypeOf<AbortSignal>();
  }
  override afterToolCall(ctx: ToolCallResultContext<typeof kitchenTools>) {
    if (ctx.toolName === "askGuest") expectTypeOf(ctx.input.question).toEqualTypeOf<string>();
    if (ctx.toolName === "findRecipe" && ctx.success) {
      expectTypeOf(ctx.input.dish).toEqualTypeOf<string>();
      expectTypeOf(ctx.output).toEqualTypeOf<unknown>();
    }
    if (!ctx.success) expectTypeOf(ctx.error).toEqualTypeOf<unknown>();
  }
}

abstract class RepairsQuestions extends Think {
  protected override repairInterruptedToolPart(part: UIMessage["parts"][number]): UIMessage["parts"][number] {
    const record = part as Record<string, unknown>;
    if (record.type === "tool-ask_user") {
      const input = record.input as { prompt?: string } | undefined;
      if (input?.prompt) return { type: "text", text: input.prompt };
    }
    return super.repairInterruptedToolPart(part);
  }
}

abstract class RepairsInPublic extends Think {
  override repairInterruptedToolPart(part: UIMessage["parts"][number]) {
    return super.repairInterruptedToolPart(part);
  }
}

abstract class LooseProviderOptions extends Think {
  options: Record<string, unknown> = { openai: { store: false } };
  override beforeTurn(_ctx: TurnContext): TurnConfig {
    return { providerOptions: this.options };
  }
}

abstract class TypedProviderOptions extends Think {
  override beforeTurn(_ctx: TurnContext) {
    return { providerOptions: { anthropic: { thinking: { type: "enabled", budgetTokens: 1_000 } } } };
  }
}

test("every sample is a Think", () => {
  const samples: { prototype: object }[] = [
    KnowsItsTools,
    RepairsQuestions,
    RepairsInPublic,
    LooseProviderOptions,
    TypedProviderOptions
  ];
  for (const sample of samples) expect(sample.prototype).toBeInstanceOf(Think);
});

test("hooks without names of tools take any call", () => {
  expectTypeOf<TurnConfig["providerOptions"]>().toEqualTypeOf<Record<string, unknown> | undefined>();
  expectTypeOf<ChatResponseResult["attachments"]>().toBeArray();
  // Without names a call may be any, also one of a tool that was registered at run time.
  expectTypeOf<ToolCallContext["toolName"]>().toEqualTypeOf<string>();
  expectTypeOf<ToolCallContext["dynamic"]>().toEqualTypeOf<boolean | undefined>();
});

/** A script of a skill: what a tool answers may be left as a file as it is. */
async function run(input: unknown, ctx: SkillRunContext) {
  const guide = ctx.files["references/style-guide.md"];
  const summary = await ctx.tools.call("summarize", { input, guide });
  await ctx.output.writeFile("notes.md", summary);
  return { ok: true };
}

test("a script of a skill compiles as documentation has it", () => {
  expect(run).toBeTypeOf("function");
});
