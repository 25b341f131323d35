import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { clientFrames, readFrame } from "./frames.ts";

const read = (frame: unknown) => readFrame(JSON.stringify(frame))?.frame;
const response = (fields: object) =>
  read({ type: "cf_agent_use_chat_response", id: "r1", body: "", done: false, ...fields });

describe("what the server says", () => {
  test("chunks carry their number and where they come from", () => {
    expect(response({ body: '{"type":"start"}', seq: 3, replay: true, continuation: true })).toEqual({
      type: "chunk",
      requestId: "r1",
      chunk: { type: "start" },
      seq: 3,
      isReplay: true,
      isContinuation: true
    });
  });

  test("D13: the text of an error is never taken for a chunk", () => {
    expect(response({ body: '{"type":"text-delta"}', done: true, error: true })).toEqual({
      type: "end",
      requestId: "r1",
      outcome: "error",
      error: '{"type":"text-delta"}'
    });
  });

  test("an end without an outcome is an end all the same", () => {
    expect(response({ done: true })).toMatchObject({ type: "end", outcome: undefined });
    expect(response({ done: true, outcome: "new-word" })).toMatchObject({ type: "end", outcome: undefined });
  });

  test("a body that cannot be read is nothing", () => {
    expect(response({ body: "{" })).toBeUndefined();
    expect(response({ body: "[]" })).toBeUndefined();
  });

  test("a list with something else than messages in it is not taken", () => {
    expect(read({ type: "cf_agent_chat_messages", messages: [{ id: 1 }] })).toBeUndefined();
  });

  test("a refusal names the call or the request it is about; an error of the conversation's store is none", () => {
    const read = (frame: object) => readFrame(JSON.stringify(frame));
    const refused = (about: string | undefined, approved?: boolean) => ({
      kind: "chat",
      frame: { type: "refused", about, error: "no", approved }
    });
    expect(read({ type: "cf_agent_tool_error", toolCallId: "c1", error: "no" })).toEqual(refused("c1"));
    expect(read({ type: "cf_agent_chat_error", id: "r1", error: true, body: "no" })).toEqual(refused("r1"));
    expect(read({ type: "cf_agent_chat_error", error: "no" })).toEqual(refused(undefined));
    const session = { type: "cf_agent_session_error", error: "no" };
    expect(read({ ...session, toolCallId: "c1", approved: false })).toEqual(refused("c1", false));
    expect(read(session)).toBeUndefined();
    expect(read({ type: "my_error", error: "no" })).toBeUndefined();
  });

  test("anything else belongs to the application, and nothing throws", () => {
    fc.assert(fc.property(fc.string(), (text) => void readFrame(text)));
    fc.assert(fc.property(fc.jsonValue(), (value) => void readFrame(JSON.stringify(value))));
    expect(readFrame('{"type":"mine"}')).toBeUndefined();
  });
});

test("an application's fields never replace those of a request", () => {
  const frame = clientFrames.request({
    requestId: "r1",
    messages: [],
    trigger: "submit-message",
    body: { messages: "mine", mood: "sunny" }
  });
  expect(JSON.parse((JSON.parse(frame) as { init: { body: string } }).init.body)).toEqual({
    messages: [],
    trigger: "submit-message",
    mood: "sunny"
  });
});
