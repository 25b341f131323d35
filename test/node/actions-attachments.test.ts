// What actions attach to a reply: delivered with the turn that recorded it, seen by no model, recorded once.
import { expect, test } from "vitest";
import { z } from "zod";
import { action, type ReplyAttachment } from "../../src/index.ts";
import { reply, stall, text, toolCall } from "../../src/testing/index.ts";
import {
  agentOf,
  connect,
  eventsOf,
  firstWaiting,
  open,
  outputAt,
  promptAt,
  say,
  scene,
  soon,
  stored,
  stubEntry
} from "./actions-kit.ts";
import { ask } from "../kit/frames.ts";

const draft = action({
  description: "Draft a reply.",
  inputSchema: z.object({ to: z.string(), count: z.number().optional(), fails: z.boolean().optional() }),
  idempotencyKey: ({ input, ctx }) => {
    ctx.attachReply({ type: "from-key" });
    return JSON.stringify(input);
  },
  permissions: ({ ctx }) => {
    ctx.attachReply({ type: "from-permissions" });
    return [];
  },
  execute: async ({ to, count = 1, fails }, ctx) => {
    for (let index = 0; index < count; index++) ctx.attachReply({ type: "email_draft", to: [to], subject: `${index}` });
    if (fails) throw new Error("no mail today");
    return { drafted: true };
  }
});

const call = (input: object, id = "c1") => reply(toolCall("draft", input, { id }));
const mail = (subject = "0"): ReplyAttachment => ({ type: "email_draft", to: ["a@x.example"], subject });
const to = "a@x.example";

test("an attachment reaches onChatResponse and replyAttachments, and never the model", async () => {
  const host = open([call({ to }), reply(text("Drafted."))], { draft });
  const { requestId } = await say(host, "u1");
  expect(scene.responses).toMatchObject([{ attachments: [mail()] }]);
  const agent = await agentOf(host);
  expect(await agent.replyAttachments()).toEqual([mail()]);
  expect(await agent.replyAttachments(requestId)).toEqual([mail()]);
  expect(await agent.replyAttachments("another")).toEqual([]);
  expect(await outputAt(host)).toEqual({ drafted: true });
  expect(promptAt(1)).not.toContain("email_draft");
  expect(JSON.stringify(await stored(host))).not.toContain("email_draft");
  expect(eventsOf("action:reply-attached")).toEqual([{ action: "draft", attachmentType: "email_draft" }]);
});

test("replyAttachments answers for the turn that is named, and for the latest without a name", async () => {
  const host = open([call({ to }), reply(text("Drafted.")), call({ to: "b@x.example" }, "c2"), reply(text("Again."))], {
    draft
  });
  const first = await say(host, "u1");
  const second = await say(host, "u2");
  const agent = await agentOf(host);
  const other: ReplyAttachment = { type: "email_draft", to: ["b@x.example"], subject: "0" };
  expect(await agent.replyAttachments(first.requestId)).toEqual([mail()]);
  expect(await agent.replyAttachments(second.requestId)).toEqual([other]);
  expect(await agent.replyAttachments()).toEqual([other]);
});

test("a turn without attachments has an empty list of them", async () => {
  const host = open([reply(text("hi"))], { draft });
  await say(host, "u1");
  expect(scene.responses[0]?.attachments).toEqual([]);
});

test("33 attachments are 32", async () => {
  const host = open([call({ to, count: 33 }), reply(text("ok"))], { draft });
  await say(host, "u1");
  expect(scene.responses[0]?.attachments).toHaveLength(32);
});

test("the limit is the turn's, over all its calls", async () => {
  const host = open([call({ to, count: 20 }, "c1"), call({ to, count: 21 }, "c2"), reply(text("ok"))], { draft });
  await say(host, "u1");
  expect(scene.responses[0]?.attachments).toHaveLength(32);
});

test("a failing execution attaches nothing", async () => {
  const host = open([call({ to, fails: true }), reply(text("ok"))], { draft });
  await say(host, "u1");
  expect(scene.responses[0]?.attachments ?? []).toEqual([]);
});

test("a replay attaches nothing, and the attachments of one turn are not the next one's", async () => {
  const host = open([call({ to }, "c1"), reply(text("ok")), call({ to }, "c2"), reply(text("ok"))], { draft });
  await say(host, "u1");
  await say(host, "u2");
  expect(scene.responses.map(({ attachments }) => attachments ?? [])).toEqual([[mail()], []]);
  expect(await (await agentOf(host)).replyAttachments()).toEqual([]);
});

test("what is no attachment is ignored, and what is read is a copy", async () => {
  const sloppy = action({
    description: "Sloppy.",
    inputSchema: z.object({}),
    execute: (_input, ctx) => {
      for (const nothing of [null, [], "text", { noType: 1 }, { type: 7 }]) ctx.attachReply(nothing as never);
      const card = { type: "card", size: 10n, list: ["a"] };
      ctx.attachReply(card);
      card.list.push("late");
      return "ok";
    }
  });
  const host = open([reply(toolCall("sloppy", {})), reply(text("ok"))], { sloppy });
  await say(host, "u1");
  expect(scene.responses[0]?.attachments).toEqual([{ type: "card", size: "10n", list: ["a"] }]);
});

test("a turn that is recovered still has the attachments of what ran before the crash, once", async () => {
  const host = open([call({ to }), reply(stall()), reply(text("Drafted."))], { draft });
  ask(await connect(host), "r1");
  await host.advance(2_000);
  await host.restart();
  await host.advance(60_000);
  expect(scene.responses).toMatchObject([{ status: "completed", attachments: [mail()] }]);
});

test("an action that runs after an approval belongs to no turn and attaches nothing", async () => {
  const parked = action({
    description: "Later.",
    inputSchema: z.object({}),
    kind: "durable-pause",
    execute: (_input, ctx) => {
      ctx.attachReply({ type: "card" });
      return "done";
    }
  });
  const host = open([reply(toolCall("later", {})), reply(text("Waiting.")), reply(text("Done."))], { later: parked });
  await say(host, "u1");
  expect(await stubEntry.approve(host, (await firstWaiting(host)).executionId)).toBe("done");
  await soon(host);
  expect(scene.responses.map(({ attachments }) => attachments ?? [])).toEqual([[], []]);
});

test("renderAttachment makes text of what it knows", async () => {
  const agent = await agentOf(open([], { draft }));
  expect(await agent.renderAttachment(mail("Hi"))).toEqual({
    markdown: "**Email draft**\n\nTo: a@x.example\nSubject: Hi"
  });
  expect(await agent.renderAttachment({ type: "voice_note" })).toBeUndefined();
});
