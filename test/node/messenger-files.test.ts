// Files of users and files of answers, with their bytes, in every provider: what the model is given, what the chat is
// sent, and where tokens may go.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import type { UIMessage } from "ai";
import { action } from "../../src/index.ts";
import { file as modelFile, reply, text, toolCall, type FakeFile } from "../../src/testing/index.ts";
import { defaultConversationName, type MessengerContext } from "../../src/features/messengers/index.ts";
import { DRIVERS } from "./messenger-drivers.ts";
import { answered, asks, bot, openBot, Support, type Host } from "./messenger-providers-kit.ts";

const JPEG: FakeFile = { name: "cat.jpg", mediaType: "image/jpeg", bytes: bytesOf([0xff, 0xd8, 0xff, 0xe0], 1_000) };
const PNG_BYTES = bytesOf([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a], 500);
const PDF: FakeFile = {
  name: "plan.pdf",
  mediaType: "application/pdf",
  bytes: bytesOf([..."%PDF-1.7"].map(code), 900)
};

function bytesOf(head: readonly number[], length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  bytes.set(head);
  return bytes;
}

function code(character: string): number {
  return character.charCodeAt(0);
}

/** No provider's, whatever an event says. */
const ELSEWHERE = [
  "https://evil.example/file",
  "https://slack.com.evil.example/file",
  "https://evil.example/?https://cdn.discordapp.com/",
  "https://contoso.sharepoint.com.evil.example/file",
  "https://smba.trafficmanager.net.evil.example/v3/attachments/1/views/original",
  "http://169.254.169.254/latest"
];

const logged: unknown[][] = [];

beforeEach(() => {
  logged.length = 0;
  for (const level of ["error", "warn"] as const) {
    vi.spyOn(console, level).mockImplementation((...line: unknown[]) => void logged.push(line));
  }
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

interface PromptFile {
  readonly type: string;
  readonly mediaType: string;
  readonly data: unknown;
}

/** The files of the newest question, as the model is given them. */
function givenFiles(call = 0): { mediaType: string; bytes: Uint8Array }[] {
  const question = bot.script.calls[call]?.prompt.findLast(({ role }) => role === "user");
  const parts = Array.isArray(question?.content) ? (question.content as readonly object[]) : [];
  return parts.flatMap((part) => {
    const { type, mediaType, data } = part as PromptFile;
    return type === "file" ? [{ mediaType, bytes: promptBytes(data) }] : [];
  });
}

function promptBytes(data: unknown): Uint8Array {
  const inner = typeof data === "object" && data !== null && "data" in data ? data.data : data;
  if (typeof inner === "string") return new Uint8Array(Buffer.from(inner, "base64"));
  return inner as Uint8Array;
}

const question = () => JSON.stringify(bot.script.calls.at(-1)?.prompt);

/** The conversation that answered, whatever its thread is called. */
async function stored(host: Host): Promise<readonly UIMessage[]> {
  return (await host.get(Support, "main")).getMessages();
}

describe.each(DRIVERS)("$name", ({ name }) => {
  test.each([JPEG, PDF])("a user's $mediaType is given to the model as a file", async (file) => {
    const host = await openBot(name, [reply(text("I see."))], { definition: { conversation: "self" } });
    await asks(host, "Look", { file });
    await answered(host);
    expect(givenFiles()).toEqual([{ mediaType: file.mediaType, bytes: file.bytes }]);
    expect(question()).toContain(`(${file.mediaType}`);
    expect(bot.driver.fake.texts()).toEqual(["I see."]);
  });

  test("it is a file of the workspace and of the stored message, also in a sub-agent", async () => {
    const host = await openBot(name, [reply(text("I see.")), reply(text("Still there."))]);
    await asks(host, "Look", { file: JPEG });
    await answered(host);
    const [saved] = /\/attachments\/[^"\\]+/.exec(question()) ?? [];
    expect(saved).toMatch(new RegExp(`^/attachments/${name}/[\\w.-]+$`));
    await host.restart();
    await asks(host, "And now?");
    await answered(host);
    const earlier = bot.script.calls[1]?.prompt.filter(({ role }) => role === "user")[0];
    expect(JSON.stringify(earlier)).toContain('"image/jpeg"');
  });

  test("no token and no private address is in the prompt, the stored messages or the log", async () => {
    const host = await openBot(name, [reply(text("I see."))], { definition: { conversation: "self" } });
    await asks(host, "Look", { file: JPEG });
    await answered(host);
    const seen = question() + JSON.stringify(await stored(host)) + JSON.stringify(logged);
    for (const secret of ["1:test", "xoxb-test", "bot-token", "app-secret", "access-token"]) {
      expect(seen).not.toContain(secret);
    }
    expect(question()).not.toMatch(/https?:/);
  });

  test("what says it is an image and is none is not given to the model, and named", async () => {
    const host = await openBot(name, [reply(text("Hm."))]);
    await asks(host, "Look", { file: { ...JPEG, bytes: bytesOf([1, 2, 3], 300) } });
    await answered(host);
    expect(givenFiles()).toEqual([]);
    expect(question()).toMatch(/was not read: its content is not of a type that can be read/);
  });

  test("a file that is too large is not fetched, and named", async () => {
    const host = await openBot(name, [reply(text("Hm."))], { definition: { attachments: { maxBytes: 999 } } });
    await asks(host, "Look", { file: JPEG });
    await answered(host);
    expect(givenFiles()).toEqual([]);
    expect(question()).toMatch(/was not read: it is too large/);
  });

  test("attachments: false leaves their names", async () => {
    const host = await openBot(name, [reply(text("Hm."))], { definition: { attachments: false } });
    await asks(host, "Look", { file: PDF });
    await answered(host);
    expect([givenFiles(), question().includes("plan.pdf")]).toEqual([[], true]);
  });

  test("a short text is part of the question", async () => {
    const bytes = new TextEncoder().encode("The answer is 42.");
    const host = await openBot(name, [reply(text("42"))]);
    await asks(host, "Read", { file: { name: "note.txt", mediaType: "text/plain", bytes } });
    await answered(host);
    expect(question()).toContain("Content of note.txt:\\nThe answer is 42.");
  });

  test("a file that the provider does not give does not cost the question", async () => {
    const host = await openBot(name, [reply(text("I cannot see it."))]);
    const asked = bot.driver.says("Look", { file: JPEG });
    const fetched = bot.driver.fake.fetch;
    const isFile = (url: string) => /\/file\/|\/files\/|\/attachments\/|getFile/.test(url);
    vi.stubGlobal("fetch", (input: string | Request, init?: RequestInit) =>
      isFile(typeof input === "string" ? input : input.url)
        ? Promise.resolve(new Response("no", { status: 500 }))
        : fetched(input, init)
    );
    await host.fetch(asked);
    await answered(host, 60_000);
    expect(question()).toMatch(/was not read: it could not be fetched/);
    expect(bot.driver.fake.texts()).toEqual(["I cannot see it."]);
  });

  // Telegram's files are read by its own adapter.
  test.skipIf(name === "telegram")("a redirect of a file is not followed: the token would go there", async () => {
    const host = await openBot(name, [reply(text("Hm."))]);
    const asked = bot.driver.says("Look", { file: JPEG });
    const fetched = bot.driver.fake.fetch;
    const visited: { url: string; redirect: RequestInit["redirect"] }[] = [];
    vi.stubGlobal("fetch", (input: string | Request, init?: RequestInit) => {
      const url = typeof input === "string" ? input : input.url;
      if (!/\/files\/|\/attachments\/|169\.254/.test(url)) return fetched(input, init);
      visited.push({ url, redirect: init?.redirect });
      return Promise.resolve(new Response(null, { status: 302, headers: { Location: "http://169.254.169.254/" } }));
    });
    await host.fetch(asked);
    await answered(host, 60_000);
    expect(visited.length).toBeGreaterThan(0);
    expect(visited.filter(({ url, redirect }) => redirect !== "manual" || url.includes("169.254"))).toEqual([]);
    expect(givenFiles()).toEqual([]);
    expect(question()).toMatch(/was not read: it could not be fetched/);
  });

  test("fetchMessengerAttachment reads it again, after a restart too; another host is refused", async () => {
    const host = await openBot(name, [reply(text("I see."))], { definition: { conversation: "self" } });
    await asks(host, "Look", { file: JPEG });
    await answered(host);
    const context = (await stored(host))[0]?.metadata as { messenger: MessengerContext };
    const [attachment] = context.messenger.message?.attachments ?? [];
    await host.restart();
    const agent = await host.get(Support, "main");
    const again = await agent.fetchMessengerAttachment(attachment ?? {}, name);
    expect(new Uint8Array(again)).toEqual(JPEG.bytes);
    const calls = bot.driver.fake.calls.length;
    for (const url of ELSEWHERE) {
      const refused = agent.fetchMessengerAttachment({ fetchMetadata: { url } }, name);
      // Telegram's own adapter knows files by their ids only.
      await expect(refused).rejects.toThrow(name === "telegram" ? "cannot fetch" : "it is not at the provider");
    }
    expect(bot.driver.fake.calls).toHaveLength(calls);
    expect(defaultConversationName({ messengerId: name, thread: context.messenger.thread })).toContain(name);
  });

  // ── Out ──

  const image = { name: "chart.png", mediaType: "image/png", bytes: PNG_BYTES };
  const attach = (attachment: object) => () => ({
    draw: action({
      description: "Draws.",
      inputSchema: z.object({}),
      execute: async (_input, context) => {
        await (context.agent as Support).workspace.writeFileBytes?.("/out/chart.png", PNG_BYTES, "image/png");
        context.attachReply({ type: "file", ...attachment });
        return "drawn";
      }
    })
  });
  const drawing = [reply(toolCall("draw", {})), reply(text("Here it is."))];
  const sentFiles = () => bot.driver.fake.messages().flatMap(({ files = [] }) => files);

  test.each([
    ["of the workspace", { path: "/out/chart.png" }],
    ["as base64", { data: Buffer.from(PNG_BYTES).toString("base64"), name: "chart.png", mediaType: "image/png" }]
  ])("a file that an action attached, %s, is sent after the answer", async (_kind, attachment) => {
    const host = await openBot(name, drawing, { actions: attach(attachment) });
    await asks(host, "Draw");
    await answered(host, 20_000);
    expect(sentFiles()).toEqual([image]);
    expect(bot.driver.fake.messages().findIndex(({ text: said }) => said === "Here it is.")).toBe(0);
  });

  test("a file that the model made is sent after the answer", async () => {
    const made = modelFile("image/png", Buffer.from(PNG_BYTES).toString("base64"));
    const host = await openBot(name, [reply(text("Made for you."), made)]);
    await asks(host, "Paint");
    await answered(host, 20_000);
    expect(sentFiles().map(({ mediaType, bytes }) => [mediaType, bytes])).toEqual([["image/png", PNG_BYTES]]);
  });

  test("one that the provider does not take is named in the chat, and nothing of it stays behind", async () => {
    const big = { data: Buffer.alloc(300).toString("base64"), name: "data.bin", mediaType: "application/x-unknown" };
    const definition = { capabilities: { supportsAttachments: false }, conversation: "self" as const };
    const host = await openBot(name, drawing, { actions: attach(big), definition });
    await asks(host, "Draw");
    await answered(host, 20_000);
    expect(bot.driver.fake.texts()).toEqual(["Here it is.", "The file data.bin could not be sent here."]);
    expect(sentFiles()).toEqual([]);
    const agent = await host.get(Support, "main");
    expect(await agent.keptUploads()).toEqual([]);
  });

  test.each(["unanswered", "lost"] as const)("an %s upload is not repeated: the user is told", async (fault) => {
    const host = await openBot(name, drawing, { actions: attach({ path: "/out/chart.png" }) });
    const uploadCall = { telegram: "sendDocument", slack: "files.completeUploadExternal" }[name as string];
    // The others upload with their ordinary call: the first post is the answer.
    if (uploadCall === undefined) return;
    bot.driver.fake.failNext(uploadCall, fault);
    await asks(host, "Draw");
    await answered(host, 120_000);
    expect(sentFiles().length).toBe(fault === "lost" ? 0 : 1);
    expect(bot.driver.fake.texts()).toContain("The file chart.png may not have arrived.");
  });

  test("an upload that was in flight when the process died is not repeated: the user is told", async () => {
    const uploadCall = { telegram: "sendDocument", slack: "files.completeUploadExternal" }[name as string];
    if (uploadCall === undefined) return;
    const host = await openBot(name, drawing, { actions: attach({ path: "/out/chart.png" }) });
    bot.driver.fake.failNext(uploadCall, "silent");
    await asks(host, "Draw");
    await answered(host, 10_000);
    expect(sentFiles()).toHaveLength(1);
    await host.restart();
    await answered(host, 120_000);
    expect(sentFiles()).toHaveLength(1);
    expect(bot.driver.fake.texts()).toContain("The file chart.png may not have arrived.");
  });

  test("429 for an upload is waited for, over a restart too, and it arrives once", async () => {
    const host = await openBot(name, drawing, { actions: attach({ path: "/out/chart.png" }) });
    const calls = { telegram: "sendDocument", slack: "files.completeUploadExternal" } as Record<string, string>;
    await asks(host, "Draw");
    bot.driver.fake.failNext(calls[name] ?? bot.driver.fake.postCall, { status: 429, retryAfterSeconds: 60 });
    await answered(host, 2_000);
    await host.restart();
    await answered(host, 120_000);
    expect(sentFiles()).toEqual([image]);
  });
});

test.runIf(process.env["EVERTHINK_LONG_TESTS"])("24 MB of images are one question", { timeout: 60_000 }, async () => {
  const files = [1, 2, 3].map((n) => ({ ...JPEG, name: `${n}.jpg`, bytes: bytesOf([0xff, 0xd8, 0xff, n], 8_000_000) }));
  const host = await openBot("slack", [reply(text("Three."))]);
  const slack = bot.driver.fake as unknown as { says(text: string, options: object): Request };
  const url = "http://localhost/agents/support/main/messengers/slack/webhook";
  await host.fetch(slack.says("Look", { url, files }));
  await answered(host, 20_000);
  expect(givenFiles().map(({ bytes }) => bytes.byteLength)).toEqual([8_000_000, 8_000_000, 8_000_000]);
  expect(bot.driver.fake.texts()).toEqual(["Three."]);
});
