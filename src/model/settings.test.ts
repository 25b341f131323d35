// Type-level promises: they fail in the type check, not at run time.
import { Output, type ToolSet } from "ai";
import type { streamText as streamText6 } from "ai6";
import { describe, expectTypeOf, test } from "vitest";
import { z } from "zod";
import type {
  ChunkEvent,
  ModelSettings,
  ModelSettingsOf,
  StepEnd,
  StepSettings,
  StepSettingsOf,
  StepStart
} from "./settings.ts";

interface TurnConfig extends ModelSettings {
  maxSteps?: number;
}

describe("settings are the SDK's own", () => {
  test("every option of the documented hooks is accepted, none is required", () => {
    const config: TurnConfig = {
      maxSteps: 3,
      activeTools: ["read"],
      toolChoice: "required",
      maxOutputTokens: 10,
      temperature: 0,
      topP: 1,
      topK: 1,
      presencePenalty: 0,
      frequencyPenalty: 0,
      stopSequences: ["x"],
      seed: 1,
      maxRetries: 0,
      timeout: 1000,
      headers: { a: "b" },
      providerOptions: { anthropic: { thinking: { type: "enabled" } } },
      experimental_telemetry: { isEnabled: true },
      output: Output.object({ schema: z.object({ severity: z.enum(["low", "high"]) }) }),
      repairToolCall: async () => null
    };
    expectTypeOf(config).toExtend<ModelSettings>();
    expectTypeOf<{}>().toExtend<TurnConfig>();
  });

  test("what the call owns is not a setting", () => {
    type Owned = "model" | "messages" | "system" | "stopWhen" | "prepareStep" | "abortSignal" | "tools" | "onChunk";
    expectTypeOf<Extract<keyof ModelSettings, Owned>>().toEqualTypeOf<never>();
    expectTypeOf<Extract<keyof ModelSettingsOf<typeof streamText6>, Owned>>().toEqualTypeOf<never>();
  });

  test("the same derivation works on ai 6", () => {
    expectTypeOf<ModelSettingsOf<typeof streamText6>>().toHaveProperty("temperature");
    expectTypeOf<ModelSettingsOf<typeof streamText6>>().toHaveProperty("experimental_repairToolCall");
    expectTypeOf<StepSettingsOf<typeof streamText6>>().toHaveProperty("activeTools");
  });

  test("step types are the SDK's", () => {
    expectTypeOf<StepStart["stepNumber"]>().toEqualTypeOf<number>();
    expectTypeOf<StepEnd["finishReason"]>().toExtend<string>();
    expectTypeOf<StepEnd["usage"]["inputTokens"]>().toEqualTypeOf<number | undefined>();
    expectTypeOf<ChunkEvent["chunk"]["type"]>().toExtend<string>();
    expectTypeOf<StepSettings>().toHaveProperty("toolChoice");
    expectTypeOf<ToolSet>().toBeObject();
  });
});
