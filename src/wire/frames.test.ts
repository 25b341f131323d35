import { expect, test } from "vitest";
import { user } from "./chat-kit.test-support.ts";
import { chatFrames } from "./frames.ts";

const turn = { requestId: "r1", continuation: false };
const continued = { requestId: "r1", continuation: true };
const response = { type: "cf_agent_use_chat_response", id: "r1" };

test.each<[string, string, object]>([
  ["a live chunk", chatFrames.chunk(turn, { seq: 3, body: "{}" }), { ...response, body: "{}", done: false, seq: 3 }],
  [
    "a replayed chunk of a continuation",
    chatFrames.chunk(continued, { seq: 0, body: "{}" }, true),
    { ...response, body: "{}", done: false, replay: true, seq: 0, continuation: true }
  ],
  [
    "the end of a replay",
    chatFrames.replayComplete(continued),
    { ...response, body: "", done: false, replay: true, replayComplete: true, continuation: true }
  ],
  [
    "a completed request",
    chatFrames.terminal({ ...turn, outcome: "completed", messageIds: ["u1"] }),
    { ...response, body: "", done: true, messageIds: ["u1"], outcome: "completed" }
  ],
  [
    "a request without a question",
    chatFrames.terminal({ ...turn, outcome: "completed", messageIds: [] }),
    { ...response, body: "", done: true, outcome: "completed" }
  ],
  [
    "a failed continuation",
    chatFrames.terminal({ ...continued, outcome: "error", errorText: "Sorry." }),
    { ...response, body: "Sorry.", done: true, error: true, continuation: true, outcome: "error" }
  ],
  [
    "an end without a stored outcome",
    chatFrames.terminal({ ...turn, replay: true }),
    { ...response, body: "", done: true, replay: true }
  ],
  ["a snapshot", chatFrames.snapshot([user("u")]), { type: "cf_agent_chat_messages", messages: [user("u")] }],
  [
    "a connect snapshot",
    chatFrames.snapshot([], true),
    { type: "cf_agent_chat_messages", messages: [], connect: true }
  ],
  ["a message", chatFrames.messageUpdated(user("u")), { type: "cf_agent_message_updated", message: user("u") }],
  ["a clear", chatFrames.clear(), { type: "cf_agent_chat_clear" }],
  ["an offer", chatFrames.resuming("r1"), { type: "cf_agent_stream_resuming", id: "r1" }],
  ["an answer", chatFrames.resuming("r1", "p"), { type: "cf_agent_stream_resuming", id: "r1", probeId: "p" }],
  ["pending", chatFrames.pending("r1", "p"), { type: "cf_agent_stream_pending", id: "r1", probeId: "p" }],
  ["nothing", chatFrames.none("idle", "p"), { type: "cf_agent_stream_resume_none", reason: "idle", probeId: "p" }],
  ["a release", chatFrames.none(), { type: "cf_agent_stream_resume_none" }],
  ["recovery", chatFrames.recovering(true, "r"), { type: "cf_agent_chat_recovering", recovering: true, id: "r" }],
  ["its end", chatFrames.recovering(false), { type: "cf_agent_chat_recovering", recovering: false }]
])("%s has exactly the fields clients ask for", (_name, text, expected) => {
  expect(JSON.parse(text)).toEqual(expected);
});
