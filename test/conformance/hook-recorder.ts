// A chat agent that keeps everything its hooks are handed, so that tests can copy, store and return it, on the in-process
// host and in workerd alike. Its model sends every kind of part.
import { tool, type LanguageModel } from "ai";
import { z } from "zod";
import { action } from "../../src/features/actions/index.ts";
import {
  Think,
  type ChatErrorContext,
  type ChatRecoveryContext,
  type ChatResponseResult,
  type ChunkContext,
  type PrepareStepContext,
  type StepContext,
  type ToolCallContext,
  type ToolCallResultContext,
  type TurnConfig,
  type TurnContext
} from "../../src/index.ts";
import { callingParts, finish, modelAnswering, plainAnswer, spokenParts, toolCall } from "../node/misbehaving-model.ts";

/** What a hook was handed, and what becomes of it. */
export interface Handed {
  readonly hook: string;
  readonly keys: string[];
  /** Why it could not be cloned or stored; empty when it could. */
  readonly problems: string[];
}

class Weight {
  constructor(readonly kilograms: number) {}
}

class Temperature {
  constructor(readonly degrees: number) {}
  warmer = () => new Temperature(this.degrees + 1);
  toJSON() {
    return { degrees: this.degrees };
  }
}

export class HookRecorder extends Think {
  readonly #seen: { hook: string; value: object }[] = [];
  #signals = 0;

  override getModel(): LanguageModel {
    return modelAnswering((prompt) => {
      const words = JSON.stringify(prompt.at(-1)?.content);
      if (words.includes("fail")) return () => Promise.reject(new Error("no"));
      if (prompt.at(-1)?.role === "tool") return plainAnswer("done");
      const calls = [
        ...toolCall("c2", "measure", {}),
        ...toolCall("c3", "breaks", {}),
        ...toolCall("c4", "book", {}),
        ...toolCall("c5", "weigh", {})
      ];
      return [...spokenParts.slice(0, -1), ...callingParts.slice(0, -1), ...calls, finish("tool-calls")];
    });
  }
  override getTools() {
    return {
      note: tool({ inputSchema: z.object({ what: z.string() }), execute: async ({ what }) => `noted ${what}` }),
      measure: tool({ inputSchema: z.object({}), execute: async () => new Temperature(21) }),
      // Its own renderer sees the object itself.
      weigh: tool({
        inputSchema: z.object({}),
        execute: async () => new Weight(3),
        toModelOutput: ({ output }) => ({ type: "text", value: `${output instanceof Weight} ${output.kilograms}` })
      }),
      breaks: tool({
        inputSchema: z.object({}),
        execute: async (): Promise<string> => {
          throw new Error("broken");
        }
      })
    };
  }
  override getActions() {
    return {
      book: action({
        description: "Books",
        inputSchema: z.object({}),
        permissions: ["book"],
        execute: async (_input, ctx) => {
          ctx.attachReply({ type: "card", title: "Booked" });
          return "booked";
        }
      })
    };
  }
  override authorizeTurn(context: TurnContext) {
    this.#keep("authorizeTurn", context, [context.signal, context.tools, context.model]);
    return true;
  }
  override authorizeAction(context: Parameters<Think["authorizeAction"]>[0]) {
    this.#keep("authorizeAction", context, [context.agent, context.env]);
    return true;
  }
  override beforeTurn(context: TurnContext): TurnConfig {
    this.#keep("beforeTurn", context, [context.signal, context.tools, context.model]);
    // A value that cannot be copied, as users keep connections and clients there.
    return { experimental_context: { connect: () => 1 } } as TurnConfig;
  }
  override beforeStep(context: PrepareStepContext) {
    this.#keep("beforeStep", context, [context.signal, context.model]);
  }
  override beforeToolCall(context: ToolCallContext) {
    this.#keep("beforeToolCall", context, [context.signal, context.abortSignal]);
  }
  override afterToolCall(context: ToolCallResultContext) {
    this.#keep("afterToolCall", context, [context.signal]);
  }
  override onStepFinish(context: StepContext) {
    this.#keep("onStepFinish", context, [context.signal, context.text, context.toolCalls]);
  }
  override onChunk(context: ChunkContext) {
    this.#keep(`onChunk ${context.chunk.type}`, context, [context.signal]);
  }
  override onChatResponse(result: ChatResponseResult) {
    this.#keep("onChatResponse", result, [result.signal]);
  }
  override onChatError(error: unknown, context?: ChatErrorContext) {
    if (context) this.#keep("onChatError", context, [context.signal]);
    return error;
  }
  override classifyChatError(_error: unknown, context?: ChatErrorContext) {
    if (context) this.#keep("classifyChatError", context, []);
  }
  override onChatRecovery(context: ChatRecoveryContext) {
    this.#keep("onChatRecovery", context, []);
  }

  #keep(hook: string, value: object, readable: readonly unknown[]): void {
    this.#seen.push({ hook, value });
    this.#signals += readable.filter((field) => field === undefined).length;
  }

  /** How many fields that a hook must be able to read were not there. */
  missing(): number {
    return this.#signals;
  }

  /** Everything, over RPC. */
  everything(): object[] {
    return this.#seen.map(({ hook, value }) => ({ hook, value }));
  }

  async handed(): Promise<Handed[]> {
    const all: Handed[] = [];
    for (const { hook, value } of this.#seen) {
      const problems: string[] = [];
      try {
        structuredClone(value);
      } catch (error) {
        problems.push(`clone: ${String(error)}`);
      }
      try {
        await this.ctx.storage.put("kept", value);
      } catch (error) {
        problems.push(`store: ${String(error)}`);
      }
      all.push({ hook, keys: Object.keys(value), problems });
    }
    return all;
  }
}
