import fc from "fast-check";
import { expect, test } from "vitest";
import type { SessionMessage, SessionMessagePart } from "./session-message.ts";
import { sanitizeMessage } from "../util/sanitize-message.ts";

const clean = (...parts: SessionMessagePart[]) => sanitizeMessage({ id: "m", role: "assistant", parts }).parts;

test("OpenAI's item ids and encrypted reasoning never reach storage", () => {
  const openai = { itemId: "rs_1", reasoningEncryptedContent: "secret" };
  expect(
    clean(
      { type: "text", text: "a", providerMetadata: { openai: { ...openai, kept: 1 }, other: { a: 1 } } },
      { type: "tool-x", toolCallId: "c", callProviderMetadata: { openai }, resultProviderMetadata: { openai } }
    )
  ).toEqual([
    { type: "text", text: "a", providerMetadata: { openai: { kept: 1 }, other: { a: 1 } } },
    { type: "tool-x", toolCallId: "c" }
  ]);
});

test("blank reasoning is dropped only when no provider needs it", () => {
  expect(
    clean(
      { type: "reasoning", text: " ", providerMetadata: { openai: { itemId: "rs" } } },
      { type: "reasoning", text: "", providerMetadata: { anthropic: { signature: "s" } } },
      { type: "reasoning", text: "why" },
      { type: "reasoning", text: "\n" }
    )
  ).toEqual([
    { type: "reasoning", text: "", providerMetadata: { anthropic: { signature: "s" } } },
    { type: "reasoning", text: "why" }
  ]);
});

test("a message without them is the same object", () => {
  const message: SessionMessage = { id: "m", role: "user", parts: [{ type: "text", text: "", extra: { openai: 1 } }] };
  expect(sanitizeMessage(message)).toBe(message);
});

test("cleaning twice changes nothing more, and nothing else", () => {
  const metadata = fc.option(
    fc.record(
      {
        openai: fc.dictionary(fc.constantFrom("itemId", "reasoningEncryptedContent", "x"), fc.string()),
        google: fc.record({ signature: fc.string() })
      },
      { requiredKeys: [] }
    ),
    { nil: undefined }
  );
  const part = fc.record({
    type: fc.constantFrom("text", "reasoning", "tool-a"),
    text: fc.constantFrom("", " ", "words"),
    providerMetadata: metadata,
    callProviderMetadata: metadata
  });
  fc.assert(
    fc.property(fc.array(part), (parts) => {
      const once = sanitizeMessage({ id: "m", role: "assistant", parts });
      expect(sanitizeMessage(once)).toBe(once);
      expect(JSON.stringify(once)).not.toMatch(/itemId|reasoningEncryptedContent/);
      expect(once.parts.filter(({ type }) => type !== "reasoning")).toHaveLength(
        parts.filter(({ type }) => type !== "reasoning").length
      );
    })
  );
});
