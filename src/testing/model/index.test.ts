import { expect, test } from "vitest";
import * as model from "./index.ts";

test("the exported names are exactly these", () => {
  expect(Object.keys(model).sort().join(" ")).toBe(
    "ScriptError ScriptExhaustedError ScriptRunawayError ScriptUnfinishedError after anthropicRedactedThinking " +
      "anthropicThinking breakStream createGate createScript cutStream fail failInBand file finish googleText " +
      "googleThought googleToolCall json modelWithBoundary openaiReasoning planModel rawInput rawPart reasoning reply response scriptedModel " +
      "source stall text textChunks toolCall toolResult usage waitFor warning"
  );
});
