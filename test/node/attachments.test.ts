// Files that people attach: what no provider can read is refused on entry with a reason, and what a provider refuses
// costs its own turn and not the conversation.
import type { FileUIPart, UIMessage } from "ai";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { AgentEvent } from "../../src/observe/index.ts";
import { Think } from "../../src/index.ts";
import {
  createScript,
  createTestHost,
  fail,
  failInBand,
  reply,
  scriptedModel,
  text,
  type Script,
  type Step,
  type TestHost,
  type TestSocket
} from "../../src/testing/index.ts";
import { framesOf, sendChat } from "../kit/frames.ts";
import { storedMessages } from "../kit/messages.ts";

let script: Script;
let events: AgentEvent[] = [];

class Chat extends Think {
  override observability = { emit: (event: AgentEvent) => void events.push(event) };
  override chatRecovery = false;
  override getModel() {
    return scriptedModel(script);
  }
}

beforeEach(() => {
  events = [];
  vi.spyOn(console, "error").mockImplementation(() => {});
});
afterEach(() => void vi.restoreAllMocks());

const PNG = "data:image/png;base64,iVBORw0KGgo=";
const file = (changes: Partial<FileUIPart> = {}): FileUIPart => ({
  type: "file",
  mediaType: "image/png",
  filename: "cat.png",
  url: PNG,
  ...changes
});
const message = (id: string, ...files: FileUIPart[]): UIMessage => ({
  id,
  role: "user",
  parts: [{ type: "text", text: id }, ...files]
});

function open(...steps: Step[]): TestHost<object> {
  script = createScript(steps);
  return createTestHost({ agents: { Chat } });
}
const connect = (host: TestHost<object>) => host.connect("/agents/chat/a");

async function post(host: TestHost<object>, socket: TestSocket, id: string, messages: readonly UIMessage[]) {
  sendChat(socket, id, messages);
  await host.idle();
}

const endOf = (socket: TestSocket, id: string) =>
  framesOf(socket)
    .filter((frame) => frame.id === id && frame.done)
    .map(({ outcome, body }) => [outcome, body]);

/** Kinds and texts of what the model was shown of the user, in its newest call. */
function shown(): string[] {
  const prompt = script.calls.at(-1)?.prompt ?? [];
  return prompt.flatMap(({ role, content }) => {
    if (role !== "user" || typeof content === "string") return [];
    return content.map((part) => (part.type === "text" ? part.text : part.type));
  });
}

const refused = (message: string, statusCode = 400): Step =>
  fail(new Error(message), { statusCode, isRetryable: false });
const NOTE = '[The file "cat.png" (image/png) is not shown: it could not be read when it was sent]';

describe("on entry", () => {
  test.each<[string, Partial<FileUIPart>, string]>([
    ["no media type", { mediaType: "" }, "it has no media type"],
    ["a media type that is none", { mediaType: "picture" }, '"picture" is not a media type'],
    ["another that is none", { mediaType: "image/" }, '"image/" is not a media type'],
    ["no data", { url: "data:image/png;base64," }, "it is empty"],
    ["blanks for data", { url: "data:image/png;base64,  " }, "it is empty"],
    ["padding for data", { url: "data:image/png;base64,==" }, "it is empty"],
    ["data without a comma", { url: "data:image/png;base64" }, "it is empty"],
    ["data that is no base64", { url: "data:image/png;base64,<svg>" }, "its data is not base64"],
    ["no address", { url: "" }, "it has neither data nor an address"],
    ["an address that is none", { url: "cat.png" }, "its address cannot be read"],
    [
      "an address of the browser",
      { url: "blob:http://localhost/1" },
      "an address that begins with blob: cannot be read"
    ],
    ["an address of the disk", { url: "file:///etc/passwd" }, "an address that begins with file: cannot be read"]
  ])("a file with %s is refused with a reason, and nothing is stored", async (_what, changes, reason) => {
    const host = open(reply(text("hello")));
    const socket = await connect(host);
    await post(host, socket, "r1", [message("u1", file(changes))]);
    const [[outcome, words] = []] = endOf(socket, "r1");
    expect(outcome).toBe("error");
    expect(words).toContain('The file "cat.png" cannot be accepted: ');
    expect(words).toContain(reason);
    expect(await storedMessages(host)).toEqual([]);
    expect(script.callCount).toBe(0);
    await post(host, socket, "r2", [message("u2")]);
    expect(endOf(socket, "r2")).toEqual([["completed", ""]]);
    const chat = await host.get(Chat, "a");
    await expect(chat.saveMessages([message("u3", file(changes))])).rejects.toThrow(reason);
    await expect(chat.addMessages([message("u3", file(changes))])).rejects.toThrow(reason);
  });

  test.each<[string, Partial<FileUIPart>]>([
    ["data", {}],
    ["an address", { url: "https://example.com/cat.png" }],
    ["an address only its provider knows", { url: "gs://bucket/cat.png" }],
    ["a wildcard for a media type", { mediaType: "image/*" }],
    ["text as data", { mediaType: "text/plain", url: "data:text/plain,hello%20there" }],
    ["a charset", { mediaType: "text/plain; charset=utf-8", url: "data:text/plain;charset=utf-8,hello" }]
  ])("a file with %s is taken", async (_what, changes) => {
    const host = open(reply(text("hello")));
    const socket = await connect(host);
    await post(host, socket, "r1", [message("u1", file(changes))]);
    expect(endOf(socket, "r1")).toEqual([["completed", ""]]);
    expect(shown()).toEqual(["u1", "file"]);
  });

  test("what was stored before is not asked about again", async () => {
    const host = open(reply(text("hello")), reply(text("there")));
    const socket = await connect(host);
    const old = message("u1", file());
    await post(host, socket, "r1", [old]);
    host.sql(Chat, "a", `UPDATE ${messageTable(host)} SET content = replace(content, '${PNG}', 'old.png')`);
    await host.restart();
    const again = await connect(host);
    await post(host, again, "r2", [...(await storedMessages(host)), message("u2")]);
    expect(endOf(again, "r2")).toEqual([["completed", ""]]);
  });
});

function messageTable(host: TestHost<object>): string {
  const tables = host.sql<{ name: string }>(
    Chat,
    "a",
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE '%message%' AND sql LIKE '%content%'"
  );
  return tables[0]?.name ?? "";
}

describe("a file that the provider refuses", () => {
  test.each<[string, Step]>([
    ["and says so", refused("Could not process image")],
    ["and does not say why", refused("Bad Request")],
    ["because it cannot take that kind", refused("Unsupported media type", 415)],
    ["in its stream", reply(failInBand(new Error("invalid_image_format: unsupported image"), { statusCode: 400 }))],
    [
      "in the SDK",
      fail(
        Object.assign(new Error("'file part media type image/png' functionality not supported."), {
          name: "AI_UnsupportedFunctionalityError"
        })
      )
    ],
    [
      "because it cannot be fetched",
      fail(Object.assign(new Error("Failed to download cat.png: 404"), { name: "AI_DownloadError", statusCode: 404 }))
    ]
  ])("%s costs its turn; later ones show a note, and it is told as an event", async (_how, refusal) => {
    const host = open(refusal, reply(text("I see no cat")), reply(text("still here")));
    const socket = await connect(host);
    await post(host, socket, "r1", [message("u1", file())]);
    expect(endOf(socket, "r1")).toEqual([["error", "The model could not answer."]]);
    await post(host, socket, "r2", [message("u2")]);
    expect(endOf(socket, "r2")).toEqual([["completed", ""]]);
    expect(shown()).toEqual(["u1", NOTE, "u2"]);
    expect(events.filter(({ type }) => type === "chat:attachment:refused").map(({ payload }) => payload)).toEqual([
      { requestId: "r1", messageId: "u1", files: [{ mediaType: "image/png", filename: "cat.png" }] }
    ]);
    // People still see what they sent, after a restart too.
    await host.restart();
    expect((await storedMessages(host))[0]?.parts).toEqual(message("u1", file()).parts);
    await post(host, await connect(host), "r3", [message("u3")]);
    expect(shown()).toEqual(["u1", NOTE, "u2", "u3"]);
  });

  test("that a client puts at an address of the network around the agent is not asked for, and costs its turn only", async () => {
    const fetched = vi.spyOn(globalThis, "fetch");
    script = createScript([reply(text("hello")), reply(text("still here"))]);
    class Reader extends Chat {
      override getModel() {
        return scriptedModel(script, { supportedUrls: {} });
      }
    }
    const host = createTestHost({ agents: { Chat: Reader } });
    const socket = await connect(host);
    await post(host, socket, "r1", [message("u1", file({ url: "http://intranet/cat.png" }))]);
    expect(endOf(socket, "r1")).toEqual([["error", "The model could not answer."]]);
    await post(host, socket, "r2", [message("u2")]);
    expect(endOf(socket, "r2")).toEqual([["completed", ""]]);
    expect(shown()).toEqual(["u1", NOTE, "u2"]);
    expect(fetched).not.toHaveBeenCalled();
  });

  test("stays out when a client posts its own copy again, and cannot be marked by one", async () => {
    const host = open(refused("Could not process image"), reply(text("ok")), reply(text("ok")));
    const socket = await connect(host);
    await post(host, socket, "r1", [message("u1", file())]);
    // A client that was away: its copy knows nothing of the refusal.
    await post(host, socket, "r2", [message("u1", file()), message("u2")]);
    expect(shown()).toEqual(["u1", NOTE, "u2"]);
    const marked = (await storedMessages(host))[0]?.metadata;
    await post(host, socket, "r3", [{ ...message("u3", file()), metadata: marked }]);
    expect(shown()).toEqual(["u1", NOTE, "u2", "u3", "file"]);
  });

  test("is not held against another file in its place", async () => {
    const host = open(refused("Could not process image"), reply(text("a dog")));
    const socket = await connect(host);
    await post(host, socket, "r1", [message("u1", file())]);
    await post(host, socket, "r2", [message("u1", file({ url: "data:image/png;base64,RG9n" }))]);
    expect(endOf(socket, "r2")).toEqual([["completed", ""]]);
    expect(shown()).toEqual(["u1", "file"]);
  });

  test("is any of the conversation when the new question has none, as after a change of the model", async () => {
    const host = open(reply(text("a cat")), refused("This model does not support image input"), reply(text("ok")));
    const socket = await connect(host);
    await post(host, socket, "r1", [message("u1", file())]);
    await post(host, socket, "r2", [message("u2")]);
    expect(endOf(socket, "r2")[0]?.[0]).toBe("error");
    await post(host, socket, "r3", [message("u3")]);
    expect(endOf(socket, "r3")).toEqual([["completed", ""]]);
    expect(shown()).toEqual(["u1", NOTE, "u2", "u3"]);
  });

  test.each<[string, Step]>([
    ["the key", refused("Could not process image", 401)],
    ["the rate", refused("too many images", 429)],
    ["the length", refused("prompt is too long")],
    ["the provider's own trouble", refused("internal error", 500)]
  ])("is not suspected when it was %s", async (_what, refusal) => {
    const host = open(refusal, reply(text("ok")));
    const socket = await connect(host);
    await post(host, socket, "r1", [message("u1", file())]);
    expect(endOf(socket, "r1")[0]?.[0]).toBe("error");
    await post(host, socket, "r2", [message("u2")]);
    expect(shown()).toEqual(["u1", "file", "u2"]);
    expect(events.some(({ type }) => type === "chat:attachment:refused")).toBe(false);
  });

  test("an older file is not suspected when a provider does not say why", async () => {
    const host = open(reply(text("a cat")), refused("Bad Request"), reply(text("ok")));
    const socket = await connect(host);
    await post(host, socket, "r1", [message("u1", file())]);
    await post(host, socket, "r2", [message("u2")]);
    await post(host, socket, "r3", [message("u3")]);
    expect(shown()).toEqual(["u1", "file", "u2", "u3"]);
  });
});

describe("an id that is half of a character", () => {
  const half = "u\ud800";

  test("of a message: the question is refused with a reason, and the next one is answered", async () => {
    const host = open(reply(text("hello")));
    const socket = await connect(host);
    await post(host, socket, "r1", [message(half)]);
    expect(endOf(socket, "r1")).toEqual([["error", "The chat request could not be read: message 0 has no usable id."]]);
    expect(await storedMessages(host)).toEqual([]);
    await post(host, socket, "r2", [message("u2")]);
    expect(endOf(socket, "r2")).toEqual([["completed", ""]]);
    expect((await storedMessages(host)).map(({ role }) => role)).toEqual(["user", "assistant"]);
  });

  test("of a request: it is refused, and nothing is stored", async () => {
    const host = open(reply(text("hello")));
    const socket = await connect(host);
    await post(host, socket, half, [message("u1")]);
    expect(endOf(socket, half)).toEqual([["error", "The chat request could not be read: its id cannot be used."]]);
    expect(await storedMessages(host)).toEqual([]);
  });

  test("of server code: it is refused", async () => {
    const host = open();
    const chat = await host.get(Chat, "a");
    await expect(chat.saveMessages([message(half)])).rejects.toThrow("its id cannot be used");
    await expect(chat.addMessages([message(half)])).rejects.toThrow("its id cannot be used");
    expect(await storedMessages(host)).toEqual([]);
  });

  test.each(["cf_agent_chat_request_cancel", "cf_agent_stream_resume_ack"])(
    "in a frame %s is ignored",
    async (type) => {
      vi.spyOn(console, "warn").mockImplementation(() => {});
      const host = open(reply(text("hello")));
      const socket = await connect(host);
      socket.send({ type, id: half });
      await host.idle();
      await post(host, socket, "r1", [message("u1")]);
      expect(endOf(socket, "r1")).toEqual([["completed", ""]]);
    }
  );
});
