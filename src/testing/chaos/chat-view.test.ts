import type { UIMessage } from "ai";
import { describe, expect, test } from "vitest";
import { ChaosChatView, endOf, type ChatFrame } from "./chat-view.ts";

const chunk = (id: string, body: object, extra: object = {}): ChatFrame => ({
  type: "cf_agent_use_chat_response",
  id,
  body: JSON.stringify(body),
  done: false,
  ...extra
});
const done = (id: string, extra: object = {}): ChatFrame => ({
  type: "cf_agent_use_chat_response",
  id,
  body: "",
  done: true,
  outcome: "completed",
  ...extra
});
const snapshot = (...messages: UIMessage[]): ChatFrame => ({ type: "cf_agent_chat_messages", messages });
const said = (id: string, text: string): UIMessage => ({ id, role: "assistant", parts: [{ type: "text", text }] });
const start = { type: "start", messageId: "a1" };
const words = (delta: string) => ({ type: "text-delta", id: "0", delta });

function viewAfter(...frames: ChatFrame[]): ChaosChatView {
  const view = new ChaosChatView();
  for (const frame of frames) view.receive(frame);
  return view;
}

const shown = ({ messages }: ChaosChatView) =>
  messages.map(({ id, parts }) => `${id}:${parts.map((part) => ("text" in part ? part.text : part.type)).join("")}`);

describe("what a tab shows", () => {
  test("chunks become a message under the id the stream announced", () => {
    const view = viewAfter(chunk("r", start), chunk("r", words("Hel")), chunk("r", words("lo")));
    expect(shown(view)).toEqual(["a1:Hello"]);
    expect(view.isStreaming).toBe(true);
  });

  test("a replay from the start replaces what was streamed before", () => {
    const view = viewAfter(chunk("r", start), chunk("r", words("Hel")));
    view.interrupt();
    for (const body of [start, words("Hel"), words("lo")]) view.receive(chunk("r", body, { replay: true }));
    expect(shown(view)).toEqual(["a1:Hello"]);
  });

  test("a continuation extends the last answer, and its replay adds only what is new", () => {
    const extra = { continuation: true };
    const view = viewAfter(snapshot(said("a1", "One. ")), chunk("c", { type: "start" }, { ...extra, seq: 0 }));
    view.receive(chunk("c", words("Two."), { ...extra, seq: 1 }));
    view.interrupt();
    view.receive(chunk("c", { type: "start" }, { ...extra, seq: 0, replay: true }));
    view.receive(chunk("c", words("Two."), { ...extra, seq: 1, replay: true }));
    view.receive(chunk("c", words(" Three."), { ...extra, seq: 2, replay: true }));
    expect(shown(view)).toEqual(["a1:One. Two. Three."]);
  });

  test("a snapshot does not take back what is still streaming, and does once its socket is gone", () => {
    const view = viewAfter(chunk("r", start), chunk("r", words("newer")));
    view.receive(snapshot(said("a1", "old")));
    expect(shown(view)).toEqual(["a1:newer"]);
    view.interrupt();
    view.receive(snapshot(said("a1", "stored")));
    expect(shown(view)).toEqual(["a1:stored"]);
  });

  test("an update replaces a known message and never adds one; a clear empties the list", () => {
    const update = (message: UIMessage): ChatFrame => ({ type: "cf_agent_message_updated", message });
    const view = viewAfter(snapshot(said("a1", "x")), update(said("a1", "y")), update(said("a2", "z")));
    expect(shown(view)).toEqual(["a1:y"]);
    view.receive({ type: "cf_agent_chat_clear" });
    expect(shown(view)).toEqual([]);
  });
});

test("what was streamed is kept beside what was stored of it", () => {
  const view = viewAfter(chunk("r", start), chunk("r", words("told")), done("r"), snapshot(said("a1", "kept")));
  expect(view.answers).toMatchObject([{ requestId: "r", stored: { parts: [{ text: "kept" }] } }]);
  expect(view.answers[0]?.streamed.parts).toMatchObject([{ text: "told" }]);
});

test("an end says how, with the text of a failure", () => {
  expect(endOf(done("r"))).toEqual({ outcome: "completed", isReplay: false });
  expect(endOf(done("r", { replay: true }))).toEqual({ outcome: "completed", isReplay: true });
  expect(endOf(done("r", { error: true, outcome: "error", body: "no" }))).toMatchObject({
    outcome: "error",
    error: "no"
  });
  expect(endOf(chunk("r", start))).toBeUndefined();
});
