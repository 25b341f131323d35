import type { UIMessage, UIMessageChunk } from "ai";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type ChatEvent, type ChatState, INITIAL_CHAT, reduceChat } from "./chat-state.ts";
import type { ConversationFrame, EndFrame } from "./frames.ts";
import { activeRequests, viewOf } from "./view.ts";

const user = (id: string, text = id): UIMessage => ({ id, role: "user", parts: [{ type: "text", text }] });

const answer = (id: string, text: string): UIMessage => ({
  id,
  role: "assistant",
  parts: [{ type: "text", text, state: "done" }]
});

const asking = (id: string, state: string, extra: object = {}): UIMessage =>
  // The SDK ties the fields to the state; a table cannot.
  ({
    id,
    role: "assistant",
    parts: [{ type: "tool-mail", toolCallId: "c1", state, input: {}, ...extra }]
  }) as UIMessage;

const framed = (frame: ConversationFrame): ChatEvent => ({ type: "frame", frame });

const messages = (...list: UIMessage[]): ChatEvent => framed({ type: "messages", messages: list, isConnect: false });

const greeting = (...list: UIMessage[]): ChatEvent => framed({ type: "messages", messages: list, isConnect: true });

function chunk(seq: number, chunk: UIMessageChunk, extra: object = {}): ChatEvent {
  return framed({ type: "chunk", requestId: "r1", seq, chunk, isReplay: false, isContinuation: false, ...extra });
}

const ended = (outcome: EndFrame["outcome"], error?: string, requestId = "r1"): ChatEvent =>
  framed({ type: "end", requestId, outcome, error });

const requested = (id: string, list: UIMessage[] = [user(`u-${id}`)], replacesFrom?: string): ChatEvent => ({
  type: "requested",
  request: { id, messages: list, replacesFrom }
});

const sent = (requestId: string): ChatEvent => ({ type: "sent", requestId });

const play = (events: readonly ChatEvent[], from: ChatState = INITIAL_CHAT): ChatState =>
  events.reduce(reduceChat, from);

const shown = (state: ChatState): string[] =>
  viewOf(state).messages.map(
    ({ id, parts }) => `${id}:${parts.map((part) => ("text" in part ? part.text : "")).join("")}`
  );

const START: ChatEvent[] = [chunk(0, { type: "start", messageId: "a1" }), chunk(1, { type: "text-start", id: "t" })];

const RESUMING: ChatEvent = framed({ type: "resuming", requestId: "r1", probeId: undefined });

describe("the one status", () => {
  const cases: [string, string, ChatEvent[]][] = [
    ["nothing was asked", "idle", []],
    ["a transcript is there", "idle", [greeting(user("u1"), answer("a1", "x"))]],
    ["asked", "queued", [requested("r1")]],
    ["asked, and the connection broke", "queued", [requested("r1"), { type: "dropped" }]],
    ["the server has a turn waiting", "queued", [framed({ type: "pending", requestId: "r9", probeId: "p" })]],
    ["a stream was offered", "queued", [RESUMING]],
    ["streaming", "running", [requested("r1"), ...START]],
    ["streaming, and the connection broke", "running", [requested("r1"), ...START, { type: "dropped" }]],
    ["completed", "settled", [requested("r1"), ...START, ended("completed")]],
    ["stopped", "settled", [requested("r1"), ...START, ended("aborted")]],
    ["failed", "settled", [requested("r1"), ended("error", "no")]],
    ["failed, and the failure is offered again", "settled", [requested("r1"), ended("error", "no"), RESUMING]],
    ["interrupted", "recovering", [framed({ type: "recovering", isRecovering: true, requestId: "r1" })]],
    [
      "interrupted, and the attempt said so",
      "recovering",
      [
        requested("r1"),
        ...START,
        ended("recovering"),
        framed({ type: "recovering", isRecovering: true, requestId: "r1" })
      ]
    ],
    [
      "going on after an interruption",
      "running",
      [framed({ type: "recovering", isRecovering: true, requestId: "r1" }), ...START]
    ],
    ["an approval is asked", "parked", [ended("completed"), messages(user("u1"), asking("a1", "approval-requested"))]],
    ["a client tool is called", "parked", [ended("completed"), messages(user("u1"), asking("a1", "input-available"))]],
    [
      "an action is parked",
      "parked",
      [messages(asking("a1", "output-available", { output: { status: "paused", executionId: "e1" } }))]
    ],
    [
      "an action is parked, and the conversation went on",
      "settled",
      [
        ended("completed"),
        messages(
          asking("a1", "output-available", { output: { status: "paused", executionId: "e1" } }),
          answer("a2", "x")
        )
      ]
    ],
    ["asked for nothing that is left", "idle", [RESUMING, { type: "found-idle" }]],
    ["waited, and was sent none", "idle", [RESUMING, framed({ type: "none", reason: undefined, probeId: undefined })]]
  ];
  test.each(cases)("%s: %s", (_name, status, events) => {
    expect(viewOf(play(events)).status).toBe(status);
  });
});

describe("what is shown", () => {
  test("a question is there before the server knows, and stays where it is when the server does", () => {
    const asked = play([greeting(user("u0"), answer("a0", "x")), requested("r1")]);
    expect(shown(asked)).toEqual(["u0:u0", "a0:x", "u-r1:u-r1"]);
    const streaming = play([sent("r1"), ...START, chunk(2, { type: "text-delta", id: "t", delta: "Hi" })], asked);
    expect(shown(streaming)).toEqual(["u0:u0", "a0:x", "u-r1:u-r1", "a1:Hi"]);
  });

  test("a transcript that crossed a question on the wire does not erase it", () => {
    expect(shown(play([requested("r1"), sent("r1"), messages(user("u0"))]))).toEqual(["u0:u0", "u-r1:u-r1"]);
  });

  test("a question the server refused is taken back, one it skipped or failed is not", () => {
    const crossed = play([requested("r1"), sent("r1"), messages(user("u0"))]);
    expect(shown(play([ended("skipped")], crossed))).toEqual(["u0:u0"]);
    expect(shown(play([requested("r1"), sent("r1"), ended("skipped")]))).toEqual(["u-r1:u-r1"]);
    expect(shown(play([requested("r1"), sent("r1"), ended("error", "no")]))).toEqual(["u-r1:u-r1"]);
  });

  test("an edit cuts what followed, and gives it back if it was not accepted", () => {
    const edit = play([
      greeting(user("u1"), answer("a1", "x"), user("u2")),
      requested("r2", [user("u1", "new")], "u1")
    ]);
    expect(shown(edit)).toEqual(["u1:new"]);
    expect(shown(play([ended("error", "no", "r2")], edit))).toEqual(["u1:u1", "a1:x", "u2:u2"]);
  });

  test("an update never takes a call back, and never adds a message", () => {
    const settled = asking("a1", "output-available", { output: 1 });
    const state = play([
      messages(settled),
      framed({ type: "message-updated", message: asking("a1", "input-available") })
    ]);
    expect(viewOf(state).messages[0]?.parts[0]).toMatchObject({ state: "output-available" });
    expect(shown(play([framed({ type: "message-updated", message: answer("a9", "x") })], state))).toHaveLength(1);
  });

  test("the result of a call reaches the answer that goes on from it, and the answer keeps what was streamed", () => {
    const state = play([
      messages(asking("a1", "approval-responded")),
      chunk(0, { type: "start" }, { isContinuation: true }),
      chunk(1, { type: "text-delta", id: "t", delta: "Sent." }, { isContinuation: true }),
      framed({ type: "message-updated", message: asking("a1", "output-available", { output: 1 }) })
    ]);
    expect(viewOf(state).messages).toMatchObject([
      { id: "a1", parts: [{ state: "output-available" }, { type: "text", text: "Sent." }] }
    ]);
  });

  const outputShown = (state: ChatState) =>
    viewOf(state).messages.flatMap(({ parts }) => parts.flatMap((part) => ("output" in part ? [part.output] : [])));

  test("a corrected output of a settled call is shown", () => {
    const before = greeting(asking("a1", "output-available", { output: "first" }));
    const corrected = asking("a1", "output-available", { output: "corrected" });
    expect(outputShown(play([before, framed({ type: "message-updated", message: corrected })]))).toEqual(["corrected"]);
    expect(outputShown(play([before, messages(corrected)]))).toEqual(["corrected"]);
  });

  test("a corrected output is shown also while the answer that holds the call goes on", () => {
    const before = [
      greeting(asking("a1", "output-available", { output: "first" })),
      chunk(0, { type: "start" }, { isContinuation: true }),
      chunk(1, { type: "text-start", id: "t" }, { isContinuation: true }),
      chunk(2, { type: "text-delta", id: "t", delta: "More." }, { isContinuation: true })
    ];
    const corrected = asking("a1", "output-available", { output: "corrected" });
    for (const news of [framed({ type: "message-updated", message: corrected }), messages(corrected)]) {
      const state = play([...before, news]);
      expect(outputShown(state)).toEqual(["corrected"]);
      expect(shown(state)).toEqual(["a1:More."]);
    }
  });

  test("an error is a field and no message, and the next question takes it away", () => {
    const failed = play([requested("r1"), sent("r1"), ended("error", "It broke.")]);
    expect(viewOf(failed)).toMatchObject({ error: "It broke.", messages: [{ role: "user" }] });
    expect(viewOf(play([requested("r2")], failed)).error).toBeUndefined();
  });

  test("clearing takes what was never sent along, and leaves the rest to its end", () => {
    const state = play([requested("r1"), sent("r1"), requested("r2"), { type: "cleared" }]);
    expect(shown(state)).toEqual([]);
    expect(state.requests.map(({ id }) => id)).toEqual(["r1"]);
    expect(state.ends).toEqual([{ requestId: "r2", outcome: "skipped" }]);
  });

  test("what can be stopped is what runs, waits or recovers, whichever client asked for it", () => {
    const state = play([
      requested("r2"),
      ...START,
      framed({ type: "pending", requestId: "r3", probeId: undefined }),
      framed({ type: "recovering", isRecovering: true, requestId: "r4" })
    ]);
    expect(activeRequests(state).sort()).toEqual(["r1", "r2", "r3", "r4"]);
  });

  test("a transcript that holds a question says that the server has it, and an end that was not received has no outcome", () => {
    const state = play([
      requested("r1"),
      sent("r1"),
      requested("r2"),
      { type: "dropped" },
      greeting(user("u-r1")),
      { type: "found-idle" }
    ]);
    expect(state.requests.map(({ id, isDelivered }) => [id, isDelivered])).toEqual([
      ["r1", true],
      ["r2", false]
    ]);
    expect(play([ended(undefined)], state).ends).toEqual([{ requestId: "r1", outcome: "unknown" }]);
  });
});

/** One turn as its asker receives it, and the message that is stored of it. */
const turns = fc.array(fc.string({ minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 8 }).map((words) => {
  const chunks: UIMessageChunk[] = [
    { type: "start", messageId: "a1" },
    { type: "text-start", id: "t" },
    ...words.map((delta): UIMessageChunk => ({ type: "text-delta", id: "t", delta })),
    { type: "text-end", id: "t" },
    { type: "finish" }
  ];
  const stored = answer("a1", words.join(""));
  const live = chunks.map((one, seq) => chunk(seq, one));
  const closing = [ended("completed"), framed({ type: "message-updated", message: stored })];
  return { chunks, stored, live, frames: [...live, ...closing] };
});

const begun = play([greeting(), requested("r1"), sent("r1")]);

describe("whatever the network does", () => {
  test("a frame that comes twice changes nothing", () => {
    fc.assert(
      fc.property(turns, ({ frames }) => {
        let state = begun;
        for (const frame of frames) {
          state = reduceChat(state, frame);
          expect(reduceChat(state, frame)).toEqual(state);
        }
      })
    );
  });

  test("a copy of a chunk, however late, changes nothing", () => {
    fc.assert(
      fc.property(turns, fc.nat(), fc.nat(), ({ live, frames }, which, when) => {
        const place = when % (frames.length + 1);
        const copy = live[which % live.length];
        if (copy === undefined || live.indexOf(copy) >= place) return;
        const state = play(frames.slice(0, place), begun);
        expect(reduceChat(state, copy)).toEqual(state);
      })
    );
  });

  test("a connection that breaks anywhere, any number of times, ends with what is stored and never shows less", () => {
    fc.assert(
      fc.property(turns, fc.array(fc.nat(), { maxLength: 4 }), ({ chunks, stored, live, frames }, cuts) => {
        let state = begun;
        let received = 0;
        let longest = 0;
        const take = (event: ChatEvent) => {
          state = reduceChat(state, event);
          const length = shown(state).join().length;
          expect(length).toBeGreaterThanOrEqual(longest);
          longest = length;
        };
        for (const cut of cuts.map((one) => one % live.length).sort((a, b) => a - b)) {
          for (const frame of live.slice(received, cut)) take(frame);
          received = Math.max(received, cut);
          take({ type: "dropped" });
          take({ type: "opened" });
          take({ type: "fetched", messages: [user("u-r1")] });
          take(RESUMING);
          take({ type: "acknowledged", requestId: "r1" });
          // The server has gone on meanwhile.
          received = Math.min(live.length, received + 1);
          chunks.slice(0, received).forEach((one, seq) => take(chunk(seq, one, { isReplay: true })));
          take(framed({ type: "replay-complete", requestId: "r1" }));
          take({ type: "greeted" });
        }
        for (const frame of frames.slice(received)) take(frame);
        expect(viewOf(state).messages).toEqual([user("u-r1"), stored]);
        expect(viewOf(state).status).toBe("settled");
      })
    );
  });

  test("a replay that was not asked for is not shown", () => {
    fc.assert(
      fc.property(turns, ({ chunks }) => {
        const replayed = chunks.map((one, seq) => chunk(seq, one, { isReplay: true }));
        expect(play(replayed, begun)).toEqual(begun);
      })
    );
  });
});

test("what recovery took back is not in the replay, and then not on the screen", () => {
  const state = play(
    [
      ...START,
      chunk(2, { type: "text-delta", id: "t", delta: "Half wro" }),
      { type: "dropped" },
      { type: "opened" },
      { type: "acknowledged", requestId: "r1" },
      chunk(0, { type: "start", messageId: "a1" }, { isReplay: true }),
      chunk(3, { type: "text-start", id: "t" }, { isReplay: true }),
      chunk(4, { type: "text-delta", id: "t", delta: "Half" }, { isReplay: true }),
      framed({ type: "replay-complete", requestId: "r1" }),
      chunk(5, { type: "text-delta", id: "t", delta: " right" })
    ],
    begun
  );
  expect(shown(state)).toEqual(["u-r1:u-r1", "a1:Half right"]);
});

test("chunks that start over on a new connection replace what an earlier one brought", () => {
  const before = [...START, chunk(2, { type: "text-delta", id: "t", delta: "Lost in the crash" })];
  const after = [...START, chunk(2, { type: "text-delta", id: "t", delta: "Kept" })];
  expect(shown(play([...before, { type: "dropped" }, { type: "opened" }, ...after]))).toEqual(["a1:Kept"]);
});

test("what was said about recovery on an earlier connection holds until the server has answered on the new one", () => {
  const before = play([
    framed({ type: "recovering", isRecovering: true, requestId: "r1" }),
    { type: "dropped" },
    { type: "opened" }
  ]);
  expect(viewOf(before).isRecovering).toBe(true);
  expect(viewOf(play([{ type: "greeted" }], before)).isRecovering).toBe(false);
  const again = play(
    [framed({ type: "recovering", isRecovering: true, requestId: "r1" }), { type: "greeted" }],
    before
  );
  expect(viewOf(again).isRecovering).toBe(true);
});

describe("an answer that the server did not take", () => {
  const question = asking("a1", "approval-requested");
  const updated = (message: UIMessage): ChatEvent => framed({ type: "message-updated", message });
  const refused = (approved?: boolean): ChatEvent =>
    framed({ type: "refused", about: "c1", error: "Too late.", approved });
  const decided: ChatEvent[] = [messages(user("u1"), question), { type: "answered", callId: "c1" }];

  test("opens the question again, with the reason", () => {
    const view = viewOf(play([...decided, refused(true)]));
    expect(view.error).toBe("Too late.");
    expect(view.pendingApprovals).toHaveLength(1);
  });

  test("because another client decided otherwise is shown, whatever is received first", () => {
    const denied = updated(asking("a1", "output-denied", { approval: { id: "p", approved: false } }));
    for (const events of [
      [denied, refused(true)],
      [refused(true), denied]
    ]) {
      expect(viewOf(play([...decided, ...events]))).toMatchObject({ error: "Too late.", pendingApprovals: [] });
    }
  });

  test("because a copy of it was accepted before changes nothing", () => {
    const taken = updated(asking("a1", "approval-responded", { approval: { id: "p", approved: true } }));
    expect(viewOf(play([...decided, taken, refused(true)])).error).toBeUndefined();
  });
});

test("the result of an approved client tool stays answered until the transcript holds it, as does its approval", () => {
  const approved = asking("a1", "approval-responded", { clientExecuted: true, approval: { id: "p", approved: true } });
  const asked = play([messages(user("u1"), asking("a1", "approval-requested", { clientExecuted: true }))]);
  const decided = play([{ type: "answered", callId: "c1" }, messages(user("u1"), approved)], asked);
  // The approval arrived: now the call waits for its result.
  expect(viewOf(decided).pendingToolCalls.map(({ callId }) => callId)).toEqual(["c1"]);
  const answered = play([{ type: "answered", callId: "c1" }, messages(user("u1"), approved)], decided);
  expect(answered.answers.has("c1")).toBe(true);
  expect(viewOf(answered).pendingToolCalls).toEqual([]);
  const done = asking("a1", "output-available", { clientExecuted: true, output: 1 });
  expect(play([messages(user("u1"), done)], answered).answers.size).toBe(0);
});

test("an output that the server corrects is shown, and one of an earlier state is not", () => {
  const done = (output: string) => asking("a1", "output-available", { output });
  const first = play([messages(user("u1"), done("wrong"))]);
  const corrected = play([framed({ type: "message-updated", message: done("right") })], first);
  expect(viewOf(corrected).messages[1]).toEqual(done("right"));
  const late = play([framed({ type: "message-updated", message: asking("a1", "input-available") })], corrected);
  expect(viewOf(late).messages[1]).toEqual(done("right"));
});

test("calls that wait are on the screen whatever was said since; a server's call of an older answer is not", () => {
  const older = asking("a1", "input-available", { clientExecuted: true });
  const servers = asking("a2", "input-available", { toolCallId: "c2" });
  const approval = asking("a3", "approval-requested", { toolCallId: "c3" });
  const view = viewOf(play([messages(user("u1"), older, servers, approval, user("u2"), answer("a4", "Else."))]));
  expect(view.pendingToolCalls.map(({ callId }) => callId)).toEqual(["c1"]);
  expect(view.pendingApprovals.map(({ callId }) => callId)).toEqual(["c3"]);
  expect(view.status).toBe("idle");
});
