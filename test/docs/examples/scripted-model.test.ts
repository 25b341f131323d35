import { isStepCount, streamText, tool } from "ai";
import { createGate, reply, scriptedModel, text, toolCall, usage } from "everthink/testing";
import { expect, test } from "vitest";
import { z } from "zod";

test("the answer is built from the tool's result", async () => {
  const gate = createGate();
  const model = scriptedModel([
    reply(toolCall("getWeather", { city: "Paris" })),
    reply(text("It is "), gate.wait(), text("sunny."), usage({ input: 40, output: 4 }))
  ]);
  const getWeather = tool({ inputSchema: z.object({ city: z.string() }), execute: async () => "sunny" });
  const answer = streamText({ model, prompt: "Weather?", tools: { getWeather }, stopWhen: isStepCount(3) }).text;

  await gate.reached; // "It is " was sent, "sunny." was not
  gate.open();

  expect(await answer).toBe("It is sunny.");
  expect(model.calls[1]?.prompt.at(-1)).toMatchObject({ role: "tool" });
  model.script.assertDone(); // every step was used, no call was unexpected
});
