import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { requestFrame, user } from "./chat-kit.test-support.ts";
import { parseChatFrame, type ChatCommand } from "./commands.ts";
import { CLIENT_TOOLS_LIMIT_BYTES, CUSTOM_BODY_LIMIT_BYTES } from "./commands.ts";

const parse = (frame: unknown) => parseChatFrame(JSON.stringify(frame));

describe("what is not ours is left to others", () => {
  test.each([
    ["", undefined],
    ["not json", undefined],
    ["null", undefined],
    ["[]", undefined],
    ["{}", undefined],
    ["1", undefined],
    ['"x"', undefined],
    ['{"type":7}', undefined],
    ['{"type":"rpc","id":"1","method":"m","args":[]}', undefined],
    ['{"type":"cf_agent_state","state":1}', undefined],
    // Frames of the server, sent back.
    ['{"type":"cf_agent_use_chat_response","id":"1","body":"","done":true}', undefined],
    ['{"type":"cf_agent_stream_resuming","id":"1"}', undefined],
    ['{"type":"constructor"}', undefined],
    ["x".repeat(1_000_000), undefined]
  ])("%.60s", (text, expected) => {
    expect(parseChatFrame(text)).toBe(expected);
  });

  test("any text and any JSON is read without a throw", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        parseChatFrame(text);
        const frame = `{"type":"cf_agent_use_chat_request","id":"a","init":{"method":"POST","body":${JSON.stringify(text)}}}`;
        expect(parseChatFrame(frame)?.type).toMatch(/^(request|malformed-request)$/);
      })
    );
  });
});

describe("a chat request", () => {
  test("becomes a command with its own fields apart from ours", () => {
    const tools = [
      { name: "a", description: "first" },
      { name: "b", parameters: { type: "object", properties: {} } },
      { name: "a", description: "second", parameters: 5 }
    ];
    const body = { messages: [user("u1")], trigger: "regenerate-message", clientTools: tools, model: "x", n: 1 };
    expect(parse(requestFrame("r1", body))).toEqual({
      type: "request",
      requestId: "r1",
      messages: [user("u1")],
      trigger: "regenerate-message",
      clientTools: [
        { name: "a", description: "second", parameters: { type: "object" } },
        { name: "b", description: null, parameters: { type: "object", properties: {} } }
      ],
      custom: { model: "x", n: 1 }
    });
  });

  test("without trigger, tools and custom fields is a submit that says nothing about them", () => {
    expect(parse(requestFrame("r1", { messages: [] }))).toEqual({
      type: "request",
      requestId: "r1",
      messages: [],
      trigger: "submit-message",
      clientTools: undefined,
      custom: undefined
    });
  });

  test("with an empty list of tools clears them", () => {
    expect(parse(requestFrame("r1", { messages: [], clientTools: [] }))).toMatchObject({ clientTools: [] });
  });

  test.each<[string, unknown]>([
    ["broken JSON", requestFrame("r1", "{")],
    ["a body that is no text", { type: "cf_agent_use_chat_request", id: "r1", init: { method: "POST", body: {} } }],
    ["a body that is no object", requestFrame("r1", "[]")],
    ["no messages", requestFrame("r1", {})],
    ["messages that are no list", requestFrame("r1", { messages: "hi" })],
    ["a message that is no object", requestFrame("r1", { messages: ["hi"] })],
    ["a message that is null", requestFrame("r1", { messages: [null] })],
    ["a message without id", requestFrame("r1", { messages: [{ role: "user", parts: [] }] })],
    ["a message with an endless id", requestFrame("r1", { messages: [user("x".repeat(300))] })],
    ["a message without role", requestFrame("r1", { messages: [{ id: "u", parts: [] }] })],
    ["a message with an unknown role", requestFrame("r1", { messages: [{ id: "u", role: "god", parts: [] }] })],
    ["a message without parts", requestFrame("r1", { messages: [{ id: "u", role: "user", content: "hi" }] })],
    ["a part that is no object", requestFrame("r1", { messages: [{ id: "u", role: "user", parts: ["hi"] }] })],
    ["a text without text", requestFrame("r1", { messages: [{ id: "u", role: "user", parts: [{ type: "text" }] }] })],
    [
      "a call without an id",
      requestFrame("r1", { messages: [{ id: "a", role: "assistant", parts: [{ type: "tool-x", state: "done" }] }] })
    ],
    ["tools that are no list", requestFrame("r1", { messages: [], clientTools: {} })],
    ["a tool without a name", requestFrame("r1", { messages: [], clientTools: [{}] })],
    ["tools too large to keep", requestFrame("r1", { messages: [], clientTools: [bigTool()] })],
    ["custom fields too large to keep", requestFrame("r1", { messages: [], big: "x".repeat(CUSTOM_BODY_LIMIT_BYTES) })]
  ])("with %s is malformed and still answerable", (_name, frame) => {
    expect(parse(frame)).toMatchObject({ type: "malformed-request", requestId: "r1" });
  });

  test("with an id that cannot be a key is answered under that id", () => {
    const id = "x".repeat(300);
    expect(parse(requestFrame(id, { messages: [] }))).toMatchObject({ type: "malformed-request", requestId: id });
  });

  test.each<[string, unknown]>([
    ["no id", { type: "cf_agent_use_chat_request", init: { method: "POST", body: "{}" } }],
    ["a numeric id", { type: "cf_agent_use_chat_request", id: 4, init: { method: "POST", body: "{}" } }],
    ["no init", { type: "cf_agent_use_chat_request", id: "r1" }],
    ["another method", { type: "cf_agent_use_chat_request", id: "r1", init: { method: "GET", body: "{}" } }],
    ["no body", { type: "cf_agent_use_chat_request", id: "r1", init: { method: "POST" } }]
  ])("with %s is ours and ignored", (_name, frame) => {
    expect(parse(frame)?.type).toBe("ignored");
  });
});

describe("the other commands", () => {
  test.each<[unknown, ChatCommand]>([
    [
      { type: "cf_agent_chat_request_cancel", id: "r1" },
      { type: "cancel", requestId: "r1" }
    ],
    [{ type: "cf_agent_chat_clear" }, { type: "clear" }],
    [{ type: "cf_agent_chat_messages", messages: [] }, { type: "push" }],
    [{ type: "cf_agent_stream_resume_request" }, { type: "resume-request", probeId: undefined }],
    [
      { type: "cf_agent_stream_resume_request", probeId: "p" },
      { type: "resume-request", probeId: "p" }
    ],
    [
      { type: "cf_agent_stream_resume_ack", id: "r1" },
      { type: "resume-ack", requestId: "r1" }
    ],
    [
      { type: "cf_agent_tool_approval", toolCallId: "c", approved: false, autoContinue: true },
      { type: "approval", toolCallId: "c", approved: false, autoContinue: true }
    ]
  ])("%j", (frame, command) => {
    expect(parse(frame)).toEqual(command);
  });

  test.each<[string, object, object]>([
    ["an output", { output: { a: 1 } }, { output: { a: 1 }, errorText: undefined }],
    ["no output", {}, { output: null, errorText: undefined }],
    ["an error", { state: "output-error", errorText: "no" }, { errorText: "no" }],
    ["an error without text", { state: "output-error" }, { errorText: "Tool execution denied by user" }],
    ["an error text without the state", { output: 1, errorText: "no" }, { output: 1, errorText: undefined }],
    ["an empty list of tools", { clientTools: [] }, { clientTools: undefined }],
    ["unreadable tools", { clientTools: [{}] }, { clientTools: undefined }],
    ["tools too large to keep", { clientTools: [bigTool()] }, { clientTools: undefined }],
    ["tools", { clientTools: [{ name: "t" }] }, { clientTools: [{ name: "t" }] }],
    ["a wish to go on", { autoContinue: true }, { autoContinue: true }],
    ["no wish to go on", { autoContinue: "yes" }, { autoContinue: false }]
  ])("a tool result with %s", (_name, fields, expected) => {
    const frame = { type: "cf_agent_tool_result", toolCallId: "c", toolName: "", ...fields };
    expect(parse(frame)).toMatchObject({ type: "tool-result", toolCallId: "c", ...expected });
  });

  test.each<[string, object]>([
    ["a cancel without id", { type: "cf_agent_chat_request_cancel" }],
    ["an acknowledgement without id", { type: "cf_agent_stream_resume_ack", id: 1 }],
    ["a tool result without call", { type: "cf_agent_tool_result", output: 1 }],
    ["an approval without call", { type: "cf_agent_tool_approval", approved: true }],
    ["an approval without answer", { type: "cf_agent_tool_approval", toolCallId: "c", approved: "yes" }]
  ])("%s is ours and ignored", (_name, frame) => {
    expect(parse(frame)?.type).toBe("ignored");
  });
});

function bigTool() {
  return { name: "t", description: "x".repeat(CLIENT_TOOLS_LIMIT_BYTES) };
}
