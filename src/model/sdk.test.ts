import * as ai7 from "ai";
import { expect, test } from "vitest";
import { z } from "zod";
import { file, rawInput, reasoning, reply, scriptedModel, source, text, toolCall } from "../testing/model/index.ts";
import { callModel } from "./call.ts";
import { installedSdk, openSdk, type SdkModule } from "./sdk.ts";
import { majors, readAll } from "./sdk-majors.test-support.ts";

test("the installed SDK is the ai package's major, opened once", () => {
  expect(installedSdk().major).toBe(7);
  expect(installedSdk()).toBe(installedSdk());
  expect(majors.map(({ sdk }) => sdk.major)).toEqual([7, 6]);
});

test("a package that is not the AI SDK is refused by name of what is missing", () => {
  // What a much older or newer release might look like.
  const stranger = { streamText: () => ({}) } as never;
  expect(() => openSdk(stranger)).toThrow(
    expect.objectContaining({ code: "unsupported-sdk", hint: expect.stringContaining("convertToModelMessages") })
  );
});

test.each(majors)("inputs are validated by the schemas of $name", async ({ sdk, module }) => {
  const schema = z.object({ n: z.number().default(3) });
  expect(await sdk.validateInput(schema, {})).toEqual({ ok: true, value: { n: 3 } });
  expect(await sdk.validateInput(schema, { n: "x" })).toMatchObject({ ok: false });
  expect(await sdk.validateInput(module.jsonSchema({ type: "object" }), { any: 1 })).toEqual({
    ok: true,
    value: { any: 1 }
  });
});

test("chunks converted one by one are exactly those of toUIMessageStream", async () => {
  const tool = (execute?: () => unknown) => ai7.tool({ inputSchema: z.object({ n: z.number() }), execute } as never);
  const tools = {
    good: tool(() => 1),
    bad: tool(() => Promise.reject(new Error("no"))),
    client: tool(),
    asks: { ...tool(() => 1), needsApproval: true }
  };
  const steps = () => [
    reply(
      reasoning("hm", { signature: "s" }),
      text("a"),
      source("https://example.com/"),
      file("image/png", new Uint8Array([1])),
      toolCall("good", { n: 1 }),
      toolCall("bad", { n: 1 }),
      toolCall("good", rawInput("{broken")),
      toolCall("unknown", {})
    ),
    reply(text("b"), toolCall("client", { n: 1 }), toolCall("asks", { n: 2 }))
  ];
  const chunksOf = async (module: SdkModule, sendReasoning: boolean) => {
    const call = callModel(openSdk(module), {
      meter: undefined,
      model: scriptedModel(steps()),
      messages: [{ role: "user", content: "Hi" }],
      tools,
      messageId: "m1",
      sendReasoning,
      signal: new AbortController().signal
    });
    // Approval ids are made up by the SDK.
    return (await readAll(call.chunks)).map((chunk) =>
      "approvalId" in chunk ? { ...chunk, approvalId: "id" } : chunk
    );
  };
  for (const sendReasoning of [true, false]) {
    const direct = await chunksOf(ai7, sendReasoning);
    expect(direct).toEqual(await chunksOf({ ...ai7, toUIMessageChunk: undefined }, sendReasoning));
    expect(direct).toEqual(await chunksOf({ ...ai7, experimental_streamTextLowMemory: undefined }, sendReasoning));
    expect(direct.map((chunk) => chunk.type)).toEqual(
      expect.arrayContaining(["tool-input-error", "tool-output-error", "tool-approval-request", "file", "source-url"])
    );
  }
});
