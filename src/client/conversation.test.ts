// What goes over the wire, and when: a conversation whose server is played by the test, frame by frame.
import type { UIMessage, UIMessageChunk } from "ai";
import { expect, test } from "vitest";
import { ClientConversation, MAX_OPEN_REQUESTS } from "./conversation.ts";
import { ClientQueueFullError } from "./errors.ts";
import type { ConversationFrame } from "./frames.ts";
import { GREETING_TIMEOUT_MS, HISTORY_TIMEOUT_MS, MAX_HELD_FRAMES } from "./joining.ts";
import { ManualTimers } from "./manual-timers.test-support.ts";
import { Outbox } from "./outbox.ts";
import { planSend } from "./requests.ts";
import { viewOf } from "./view.ts";

function stage(fetchMessages: () => Promise<readonly UIMessage[] | undefined> = async () => []) {
  const timers = new ManualTimers();
  const sent: Record<string, unknown>[] = [];
  let ids = 0;
  const send = (text: string) => {
    sent.push(JSON.parse(text) as Record<string, unknown>);
    return true;
  };
  const outbox: Outbox = new Outbox({ send, isGreeted: () => conversation.isGreeted });
  const conversation: ClientConversation = new ClientConversation({
    timers,
    newId: () => `id-${(ids += 1)}`,
    fetchMessages,
    onChange: () => undefined,
    outbox,
    send
  });
  const drop = () => {
    conversation.dropped();
    outbox.dropped(false);
  };
  /** The types of what was sent since the last look. */
  const types = () => sent.splice(0).map(({ type }) => String(type).replace(/^cf_agent_(stream_|chat_)?/, ""));
  const probe = () => String(sent.findLast(({ type }) => type === "cf_agent_stream_resume_request")?.["probeId"]);
  const receive = (...frames: ConversationFrame[]) => frames.forEach((frame) => conversation.receive(frame));
  /** A connection that finds nothing going on. */
  const open = (...messages: UIMessage[]) => {
    conversation.opened();
    receive({ type: "messages", messages, isConnect: true }, { type: "none", reason: "idle", probeId: probe() });
  };
  const ask = (id: string) => void conversation.request(planSend(id, id), {});
  return { conversation, outbox, drop, timers, sent, types, probe, receive, open, ask };
}

const user = (id: string): UIMessage => ({ id, role: "user", parts: [{ type: "text", text: id }] });
const resuming = (requestId: string, probeId?: string): ConversationFrame => ({ type: "resuming", requestId, probeId });
const completed = (requestId: string): ConversationFrame => ({
  type: "end",
  requestId,
  outcome: "completed",
  error: undefined
});
const later = () => new Promise((resolve) => setImmediate(resolve));

const parked: UIMessage = {
  id: "a1",
  role: "assistant",
  parts: [{ type: "tool-clock", toolCallId: "c1", state: "input-available", input: {} }]
};

test("a message waits for the answer of the server, and then goes out once", () => {
  const { types, open, ask } = stage();
  ask("u1");
  expect(types()).toEqual([]);
  open();
  expect(types()).toEqual(["resume_request", "use_chat_request"]);
});

test("a server that does not answer is not waited for any longer", () => {
  const { conversation, timers, types, ask } = stage();
  ask("u1");
  conversation.opened();
  timers.advance(GREETING_TIMEOUT_MS);
  expect(types()).toEqual(["resume_request", "use_chat_request"]);
});

test("a stream that is offered twice is accepted once per connection", () => {
  const { drop, types, receive, open } = stage();
  open();
  types();
  receive(resuming("r1"), resuming("r1", "p"));
  expect(types()).toEqual(["resume_ack"]);
  drop();
  open();
  types();
  receive(resuming("r1"));
  expect(types()).toEqual(["resume_ack"]);
});

test("before a stream is joined the messages are fetched, and the offer is accepted when they are there", async () => {
  const { conversation, types, receive } = stage(async () => [user("u1")]);
  conversation.opened();
  receive(resuming("r1"));
  expect(types()).toEqual(["resume_request"]);
  await later();
  expect(types()).toEqual(["resume_ack"]);
  expect(conversation.state.stored).toEqual([user("u1")]);
});

test("messages that do not come hold a stream up for a while only", async () => {
  const { conversation, timers, types, receive } = stage(() => new Promise(() => undefined));
  conversation.opened();
  receive(resuming("r1"));
  timers.advance(HISTORY_TIMEOUT_MS);
  expect(types()).toEqual(["resume_request", "resume_ack"]);
});

test("messages fetched for a connection that is gone are not shown", async () => {
  const { promise, resolve } = Promise.withResolvers<readonly UIMessage[]>();
  const { conversation, drop, receive, open } = stage(() => promise);
  conversation.opened();
  receive(resuming("r1"));
  drop();
  open(user("new"));
  resolve([user("old")]);
  await later();
  expect(conversation.state.stored).toEqual([user("new")]);
});

test("messages fetched for an earlier connection are not taken for those the next one waits for", async () => {
  const fetches: ((messages: readonly UIMessage[]) => void)[] = [];
  const { conversation, drop, receive, types } = stage(() => new Promise((resolve) => fetches.push(resolve)));
  conversation.opened();
  receive(resuming("r1"));
  drop();
  conversation.opened();
  receive(resuming("r1"));
  types();
  fetches[0]?.([user("old")]);
  await later();
  expect(conversation.state.stored).toEqual([]);
  expect(types()).toEqual([]);
  fetches[1]?.([user("new")]);
  await later();
  expect(conversation.state.stored).toEqual([user("new")]);
  expect(types()).toEqual(["resume_ack"]);
});

test("frames that wait for the messages are few: with too many, nothing is waited for", () => {
  const { conversation, types, receive } = stage(() => new Promise(() => undefined));
  conversation.opened();
  receive(resuming("r1"));
  types();
  const frame: ConversationFrame = { type: "recovering", isRecovering: true, requestId: "r1" };
  receive(...Array.from({ length: MAX_HELD_FRAMES - 1 }, () => frame));
  expect([types(), viewOf(conversation.state).isRecovering]).toEqual([[], false]);
  receive(frame);
  expect([types(), viewOf(conversation.state).isRecovering]).toEqual([["resume_ack"], true]);
});

test("a message the server shows is not sent again; one it does not show is", () => {
  const { drop, types, open, ask } = stage();
  open();
  ask("u1");
  ask("u2");
  types();
  drop();
  open(user("u1"));
  // The one it has and does not work on is over: it is asked how that ended.
  expect(types()).toEqual(["resume_request", "resume_ack", "use_chat_request"]);
});

test("after a stream of others, a client that was away asks what became of its own", async () => {
  const { conversation, drop, types, receive, open, ask, probe } = stage();
  open();
  ask("u1");
  drop();
  conversation.opened();
  receive({ type: "messages", messages: [user("u1")], isConnect: true });
  receive(resuming("other", probe()));
  types();
  receive(completed("other"));
  await later();
  expect(types()).toEqual(["resume_request"]);
});

test("an answer to a call is followed by the question what it started, but not into a stream", () => {
  const { conversation, types, receive, open } = stage();
  open(parked);
  types();
  conversation.answerTool({ callId: "c1", toolName: "clock", output: 1 });
  expect(types()).toEqual(["tool_result", "resume_request"]);
  receive({
    type: "chunk",
    requestId: "r2",
    seq: 0,
    chunk: { type: "start", messageId: "a2" },
    isReplay: false,
    isContinuation: false
  });
  conversation.answerTool({ callId: "c1", toolName: "clock", output: 1 });
  expect(types()).toEqual(["tool_result"]);
});

test("an answer of which the server shows nothing is confirmed after the stream that was received meanwhile", async () => {
  const { conversation, types, receive, open, probe } = stage();
  open(parked);
  const chunk = { type: "start", messageId: "a2" } as const;
  receive({ type: "chunk", requestId: "r2", seq: 0, chunk, isReplay: false, isContinuation: false });
  types();
  let isConfirmed = false;
  void conversation.answerTool({ callId: "gone", toolName: "", output: 1 }).then(() => (isConfirmed = true));
  expect(types()).toEqual(["tool_result"]);
  receive(completed("r2"));
  await later();
  expect(isConfirmed).toBe(false);
  receive({ type: "none", reason: "idle", probeId: probe() });
  await later();
  expect(isConfirmed).toBe(true);
});

test("an answer given offline goes out with the next connection, if the call is still open then", () => {
  const { conversation, drop, types, open } = stage();
  open(parked);
  drop();
  conversation.answerTool({ callId: "c1", toolName: "clock", output: 1 });
  types();
  open(parked);
  expect(types()).toEqual(["resume_request", "tool_result", "resume_request"]);
  drop();
  open(user("u1"));
  expect(types()).toEqual(["resume_request"]);
});

test("a clear goes out once, before what was written after it", () => {
  const { conversation, drop, types, open, ask } = stage();
  conversation.clear();
  ask("u1");
  open(user("old"));
  // The question behind them is how the clear is confirmed.
  expect(types()).toEqual(["resume_request", "clear", "use_chat_request", "resume_request"]);
  drop();
  open();
  expect(types()).not.toContain("clear");
});

test("a decision that fails puts its question back on the screen", async () => {
  const { conversation, open } = stage();
  const paused = { status: "paused", executionId: "e1" };
  open({
    id: "a1",
    role: "assistant",
    parts: [{ type: "tool-wire", toolCallId: "c1", state: "output-available", input: {}, output: paused }]
  });
  const deciding = conversation.decide("c1", async () => {
    expect(viewOf(conversation.state).pendingApprovals).toEqual([]);
    throw new Error("no");
  });
  await expect(deciding).rejects.toThrow("no");
  expect(viewOf(conversation.state).pendingApprovals).toMatchObject([{ executionId: "e1" }]);
});

test("there is a limit to what waits, and no caller waits for a closed client", async () => {
  const { conversation } = stage();
  const ends = Array.from({ length: MAX_OPEN_REQUESTS }, (_, index) =>
    conversation.request(planSend(`${index}`, ""), {})
  );
  expect(() => conversation.request(planSend("more", ""), {})).toThrow(ClientQueueFullError);
  conversation.close();
  expect(new Set((await Promise.all(ends)).map(({ outcome }) => outcome))).toEqual(new Set(["unknown"]));
});

const chunk = (requestId: string, seq: number, part: UIMessageChunk, isReplay = false): ConversationFrame => ({
  type: "chunk",
  requestId,
  chunk: part,
  seq,
  isReplay,
  isContinuation: false
});
const callChunks: UIMessageChunk[] = [
  { type: "start", messageId: "a1" },
  { type: "tool-input-available", toolCallId: "c1", toolName: "clock", input: {} }
];

/** Asks, sees the beginning of the answer, and loses the connection; the transcript of the server is what `fetch` gives. */
function cutOff(fetchMessages: () => Promise<readonly UIMessage[] | undefined>) {
  const staged = stage(fetchMessages);
  const { conversation, sent, open, receive, drop } = staged;
  open();
  /** What waited for this client when the turn was reported as over. */
  const waiting: unknown[] = [];
  const report = () => waiting.push(viewOf(conversation.state).pendingToolCalls.map(({ callId }) => callId));
  const ended = conversation.request(planSend("u1", "Time?"), {}).then(report);
  const requestId = String(sent.findLast(({ type }) => type === "cf_agent_use_chat_request")?.["id"]);
  receive({ type: "messages", messages: [user("u1")], isConnect: false });
  receive(chunk(requestId, 0, { type: "start", messageId: "a1" }));
  drop();
  conversation.opened();
  return { ...staged, requestId, waiting, ended };
}

test("the end of a turn that was not joined again in time is shown together with the call that it left open", async () => {
  const transcripts = [[user("u1")], [user("u1"), parked]];
  const { receive, requestId, waiting, ended } = cutOff(async () => transcripts.shift());
  receive(resuming(requestId));
  await later();
  // It ended before the server had the acknowledgement. Each frame comes by itself.
  receive(completed(requestId));
  await later();
  await ended;
  expect(waiting).toEqual([["c1"]]);
  receive({ type: "messages", messages: [user("u1"), parked], isConnect: false });
});

test("the end behind a complete replay is shown with what was replayed, although no transcript has come", async () => {
  const { conversation, receive, requestId, waiting, ended, types } = cutOff(async () => [user("u1")]);
  receive(resuming(requestId));
  await later();
  types();
  receive(...callChunks.map((part, seq) => chunk(requestId, seq, part, true)), completed(requestId));
  await ended;
  expect(waiting).toEqual([["c1"]]);
  expect(viewOf(conversation.state).status).toBe("parked");
});

test("an end whose answer cannot be fetched is reported after a while, and takes nothing off the screen", async () => {
  let isGone = false;
  const transcript = async () => (isGone ? new Promise<undefined>(() => undefined) : [user("u1")]);
  const { conversation, receive, requestId, waiting, ended, timers } = cutOff(transcript);
  receive(resuming(requestId));
  await later();
  isGone = true;
  receive(completed(requestId));
  await later();
  expect(waiting).toEqual([]);
  timers.advance(HISTORY_TIMEOUT_MS);
  await ended;
  expect(waiting).toEqual([[]]);
  expect(conversation.state.streams).toEqual({});
});

test("frames that came behind such an end are applied behind it, in their order", async () => {
  const { conversation, receive, requestId, ended } = cutOff(async () => [user("u1"), parked]);
  receive(resuming(requestId), completed(requestId), chunk("r2", 0, { type: "start", messageId: "a2" }));
  receive({ type: "messages", messages: [user("u1"), parked, user("u2")], isConnect: false });
  await ended;
  await later();
  expect(conversation.state.stored.map(({ id }) => id)).toEqual(["u1", "a1", "u2"]);
  expect(Object.keys(conversation.state.streams)).toEqual(["r2"]);
});
