import { describe, expect, test } from "vitest";
import {
  createScript,
  fail,
  reply,
  scriptedModel,
  ScriptExhaustedError,
  ScriptRunawayError,
  ScriptUnfinishedError,
  stall,
  text,
  type Script
} from "./index.ts";

const says = (content: string) => [{ role: "user", content: [{ type: "text", text: content }] }] as const;
const prompt = says("Hi");
const dead = () => new Promise<never>(() => {});

/** What the next call answers, on a model built for this call only, as after a restart. */
async function nextText(script: Script): Promise<string> {
  const { content } = await scriptedModel(script).doGenerate({ prompt });
  return content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

describe("the position", () => {
  test("belongs to the script, so a model built again goes on where the last one stopped", async () => {
    const script = createScript([reply(text("one")), reply(text("two"))]);
    expect([await nextText(script), await nextText(script)]).toEqual(["one", "two"]);
    await expect(nextText(script)).rejects.toThrow(ScriptExhaustedError);
    expect(script.callCount).toBe(3);
  });

  test("moves when the call arrives: a call that dies has used its step", async () => {
    const script = createScript([reply(text("one")), reply(text("two"))]);
    void scriptedModel(script, { boundary: dead }).doStream({ prompt });
    await Promise.resolve();
    expect(await nextText(script)).toBe("two");
  });

  test("with advance at-end a step cut short by a crash is played again, wherever the crash came", async () => {
    const steps = [reply(text("one")), reply(text("two"))];
    // Answer, stream-start, response-metadata, text-start, text-delta, text-end, finish.
    for (let crashAt = 0; crashAt < 7; crashAt += 1) {
      const script = createScript(steps, { advance: "at-end" });
      await streamUntilCrash(script, crashAt);
      expect(await nextText(script)).toBe("one");
    }
    const script = createScript(steps, { advance: "at-end" });
    await streamUntilCrash(script, 7);
    expect(await nextText(script)).toBe("two");
  });

  test("with advance at-end a failed, an aborted and a cancelled step count as played", async () => {
    const script = createScript([fail(new Error("no")), stall(), reply(text("half"), stall()), reply(text("last"))], {
      advance: "at-end"
    });
    const model = scriptedModel(script);
    await expect(model.doStream({ prompt })).rejects.toThrow("no");
    const stop = new AbortController();
    const silent = model.doStream({ prompt, abortSignal: stop.signal });
    stop.abort(new Error("stopped"));
    await expect(silent).rejects.toThrow("stopped");
    const { stream } = await model.doStream({ prompt });
    await stream.cancel();
    expect(await nextText(script)).toBe("last");
    script.assertDone();
  });

  test("a call that is aborted before it starts is recorded and costs no step", async () => {
    const script = createScript([reply(text("one"))]);
    const abortSignal = AbortSignal.abort(new Error("stopped"));
    await expect(scriptedModel(script).doStream({ prompt, abortSignal })).rejects.toThrow("stopped");
    expect(script.callCount).toBe(1);
    expect(await nextText(script)).toBe("one");
  });
});

async function streamUntilCrash(script: Script, crashAt: number): Promise<void> {
  const crashed = Promise.withResolvers<void>();
  let passed = 0;
  const boundary = () => {
    if (passed === crashAt) {
      crashed.resolve();
      return dead();
    }
    passed += 1;
    return Promise.resolve();
  };
  const run = async () => {
    const { stream } = await scriptedModel(script, { boundary }).doStream({ prompt });
    for await (const part of stream) expect(part.type).not.toBe("error");
  };
  await Promise.race([run(), crashed.promise]);
}

describe("beyond the last step", () => {
  test("repeat-last gives the last step for ever, up to the limit of calls", async () => {
    const script = createScript([reply(text("one")), reply(text("last"))], { onExhausted: "repeat-last", maxCalls: 4 });
    const heard = [];
    for (let call = 0; call < 4; call += 1) heard.push(await nextText(script));
    expect(heard).toEqual(["one", "last", "last", "last"]);
    await expect(nextText(script)).rejects.toThrow(ScriptRunawayError);
  });

  test("an empty script has nothing to repeat", async () => {
    await expect(nextText(createScript([], { onExhausted: "repeat-last" }))).rejects.toThrow(ScriptExhaustedError);
  });

  test("push adds steps during a test", async () => {
    const script = createScript([]);
    script.push(reply(text("late")));
    expect(await nextText(script)).toBe("late");
  });

  test("a long user text is shortened in the error", async () => {
    const failure = scriptedModel([]).doStream({ prompt: says("x".repeat(10_000)) });
    await expect(failure).rejects.toSatisfy((error: Error) => error.message.length < 400);
  });
});

describe("a function", () => {
  test("as a step sees the call it answers, and may be async", async () => {
    const model = scriptedModel([async (call) => reply(text(`${call.number}: ${call.lastUserText}`))]);
    expect((await model.doGenerate({ prompt: says("hello") })).content).toEqual([{ type: "text", text: "1: hello" }]);
  });

  test("as the whole script answers every call", async () => {
    const script = createScript((call) => reply(text(`answer ${call.number}`)));
    expect([await nextText(script), await nextText(script)]).toEqual(["answer 1", "answer 2"]);
    script.assertDone();
  });

  test("that throws rejects the call, and assertDone shows the error even if the agent hid it", async () => {
    const script = createScript(() => {
      throw new Error("expected another prompt");
    });
    await expect(nextText(script)).rejects.toThrow("another prompt");
    expect(() => script.assertDone()).toThrow("another prompt");
  });

  test("that never answers is ended by an abort", async () => {
    const stop = new AbortController();
    const call = scriptedModel(dead).doStream({ prompt, abortSignal: stop.signal });
    stop.abort(new Error("stopped"));
    await expect(call).rejects.toThrow("stopped");
  });
});

test("assertDone names the steps that were never asked for", () => {
  const script = createScript([reply(), reply()]);
  expect(() => script.assertDone()).toThrow(ScriptUnfinishedError);
  expect(script.remaining).toBe(2);
});

describe("recorded calls", () => {
  test("are deep copies that cannot be changed and hold no signal", async () => {
    const bytes = new Uint8Array([1]);
    const url = new URL("https://example.com/a.png");
    const content = [
      { type: "text" as const, text: "look" },
      { type: "file" as const, mediaType: "image/png", data: bytes },
      { type: "file" as const, mediaType: "image/png", data: url }
    ];
    const model = scriptedModel([reply(text("ok"))]);
    const { signal } = new AbortController();
    await model.doGenerate({
      prompt: [{ role: "user", content }],
      temperature: 0.5,
      topK: undefined,
      abortSignal: signal
    });
    content.pop();
    bytes[0] = 9;
    const [call] = model.calls;
    expect(call?.prompt[0]?.content).toEqual([
      { type: "text", text: "look" },
      { type: "file", mediaType: "image/png", data: new Uint8Array([1]) },
      { type: "file", mediaType: "image/png", data: url }
    ]);
    expect(call?.settings).toStrictEqual({ temperature: 0.5 });
    expect(call).not.toHaveProperty("abortSignal");
    expect(Object.isFrozen(call?.prompt[0]?.content)).toBe(true);
    expect(() => Object.assign(model.calls, { length: 0 })).toThrow(TypeError);
  });

  test("may hold values that refer to themselves", async () => {
    const schema: { properties: Record<string, unknown> } = { properties: {} };
    schema.properties["child"] = schema;
    const model = scriptedModel([reply()]);
    await model.doGenerate({ prompt, tools: [{ type: "function", name: "tree", inputSchema: schema }] });
    expect(model.calls[0]?.tools[0]).toMatchObject({ name: "tree" });
  });
});
