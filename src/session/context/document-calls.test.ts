import { describe, expect, test } from "vitest";
import type { SessionMessage, SessionMessagePart } from "../session-message.ts";
import { documentCalls, notFound, notLoaded, unloadedMarker, withoutDocuments } from "./document-calls.ts";

const call = (name: string, key: string, output: unknown, more: object = {}): SessionMessagePart => ({
  type: `tool-${name}`,
  toolCallId: `${name}-${key}`,
  state: "output-available",
  input: { label: "skills", key },
  output,
  ...more
});
const answer = (...parts: SessionMessagePart[]): SessionMessage => ({ id: "m", role: "assistant", parts });
const kinds = (message: SessionMessage) => documentCalls(message).map(({ kind, key }) => `${kind} ${key}`);

describe("what a message says about documents", () => {
  test.each<[string, SessionMessage, string[]]>([
    ["a static part", answer(call("load_context", "a", "text")), ["loaded a"]],
    [
      "a dynamic part",
      answer(call("load_context", "a", "text", { type: "dynamic-tool", toolName: "load_context" })),
      ["loaded a"]
    ],
    ["a document that was not found", answer(call("load_context", "a", notFound("a"))), []],
    [
      "a document that could not be loaded",
      answer(call("load_context", "a", `${notLoaded({ label: "skills", key: "a" })}: down`)),
      []
    ],
    ["a document about errors", answer(call("load_context", "a", "Error: what it means")), ["loaded a"]],
    ["the marker", answer(call("load_context", "a", unloadedMarker("a"))), ["unloaded a"]],
    ["the tool that unloads", answer(call("unload_context", "a", "Unloaded.")), ["unloaded a"]],
    ["a call without a result", answer(call("load_context", "a", undefined, { state: "input-available" })), []],
    ["a call that failed", answer(call("load_context", "a", undefined, { state: "output-error" })), []],
    ["input that is none of ours", answer(call("load_context", "a", "text", { input: { label: 1 } })), []],
    ["other tools", answer(call("read", "a", "text")), []],
    ["a user's message", { ...answer(call("load_context", "a", "text")), role: "user" }, []]
  ])("%s", (_name, message, expected) => {
    expect(kinds(message)).toEqual(expected);
  });
});

describe("taking documents out of a message", () => {
  const message = answer(
    call("load_context", "a", "text a"),
    call("load_context", "b", "text b"),
    call("unload_context", "a", "Unloaded.")
  );

  test("a named one", () => {
    const shorter = withoutDocuments(message, [{ label: "skills", key: "b" }]);
    expect(shorter?.parts.map(({ output }) => output)).toEqual(["text a", unloadedMarker("b"), "Unloaded."]);
    expect(withoutDocuments(message, [{ label: "other", key: "b" }])).toBeUndefined();
  });

  test("those it unloads itself, and no others", () => {
    const shorter = withoutDocuments(message);
    expect(shorter?.parts.map(({ output }) => output)).toEqual([unloadedMarker("a"), "text b", "Unloaded."]);
    expect(shorter && withoutDocuments(shorter)).toBeUndefined();
  });

  test("one that was loaded again after it was unloaded stays", () => {
    const again = answer(...message.parts, call("load_context", "a", "text again"));
    expect(withoutDocuments(again)?.parts.map(({ output }) => output)).toEqual([
      unloadedMarker("a"),
      "text b",
      "Unloaded.",
      "text again"
    ]);
  });
});
