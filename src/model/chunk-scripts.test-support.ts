// Random well-formed UI message streams: what a server of the SDK may send for one assistant message.
import type { UIMessageChunk } from "ai";
import fc from "fast-check";

const word = fc.string({ maxLength: 6 });
/** The SDK's partial JSON does not cope with every escape, so inputs have none. */
const plain = fc.stringMatching(/^[a-z0-9 :{}]{0,5}$/);
const metadata = fc.constantFrom(
  undefined,
  { google: { thoughtSignature: "s1" } },
  { google: { thoughtSignature: "s2" } }
);
const withMetadata = (value: { google: { thoughtSignature: string } } | undefined) =>
  value === undefined ? {} : { providerMetadata: value };

type Segment = (id: string) => UIMessageChunk[];

const block: fc.Arbitrary<Segment> = fc
  .tuple(fc.constantFrom("text" as const, "reasoning" as const), fc.array(word, { maxLength: 4 }), metadata, metadata)
  .map(([kind, deltas, first, last]): Segment => (id) => [
    { type: `${kind}-start`, id, ...withMetadata(first) },
    ...deltas.map((delta): UIMessageChunk => ({ type: `${kind}-delta`, id, delta })),
    { type: `${kind}-end`, id, ...withMetadata(last) }
  ]);

const ending = fc.constantFrom("none", "output", "error", "denied", "asked", "approved-output", "preliminary");

const call: fc.Arbitrary<Segment> = fc
  .tuple(fc.dictionary(plain, fc.oneof(plain, fc.integer(), fc.boolean())), fc.boolean(), ending, metadata, fc.nat(3))
  .map(([input, dynamic, end, provider, pieces]): Segment => (id) => {
    const text = JSON.stringify(input);
    const size = Math.max(1, Math.ceil(text.length / Math.max(1, pieces)));
    const named = { toolCallId: id, toolName: "search", ...(dynamic ? { dynamic } : {}) };
    const asked: UIMessageChunk = { type: "tool-approval-request", approvalId: `approval-${id}`, toolCallId: id };
    const done: UIMessageChunk = { type: "tool-output-available", toolCallId: id, output: { hits: 3 } };
    const ends: Record<string, UIMessageChunk[]> = {
      none: [],
      output: [done],
      error: [{ type: "tool-output-error", toolCallId: id, errorText: "no" }],
      denied: [asked, { type: "tool-output-denied", toolCallId: id }],
      asked: [asked],
      "approved-output": [asked, done],
      preliminary: [{ type: "tool-output-available", toolCallId: id, output: { hits: 1 }, preliminary: true }, done]
    };
    const deltas =
      pieces === 0
        ? []
        : Array.from({ length: Math.ceil(text.length / size) }, (_unused, index) =>
            text.slice(index * size, (index + 1) * size)
          );
    return [
      ...(pieces === 0 ? [] : [{ type: "tool-input-start", ...named } as const]),
      ...deltas.map((inputTextDelta): UIMessageChunk => ({ type: "tool-input-delta", toolCallId: id, inputTextDelta })),
      { type: "tool-input-available", ...named, input, ...withMetadata(provider) },
      ...(ends[end] ?? [])
    ];
  });

const other: fc.Arbitrary<Segment> = fc.constantFrom<Segment>(
  (id) => [{ type: "source-url", sourceId: id, url: "https://example.com/", title: "t" }],
  (id) => [{ type: "source-document", sourceId: id, mediaType: "text/plain", title: "t", filename: "f" }],
  () => [{ type: "file", mediaType: "image/png", url: "data:image/png;base64,AA==" }],
  () => [
    { type: "data-progress", id: "p", data: { at: 1 } },
    { type: "data-progress", id: "p", data: { at: 2 } }
  ],
  () => [{ type: "data-log", data: "line" }],
  () => [{ type: "data-blink", data: 1, transient: true }],
  (id) => [{ type: "message-metadata", messageMetadata: { [id]: true } }]
);

/** Two blocks at once, as some providers interleave reasoning and text. */
const parallel: fc.Arbitrary<Segment> = fc.tuple(word, word).map(([first, second]): Segment => (id) => [
  { type: "reasoning-start", id: `${id}r` },
  { type: "text-start", id: `${id}t` },
  { type: "reasoning-delta", id: `${id}r`, delta: first },
  { type: "text-delta", id: `${id}t`, delta: second },
  { type: "reasoning-delta", id: `${id}r`, delta: second },
  { type: "text-end", id: `${id}t` },
  { type: "reasoning-end", id: `${id}r` }
]);

const segment = fc.oneof(block, call, other, parallel);

/** Ends in a text, so that a reader which reports on writes has reported everything. */
export const anyStream: fc.Arbitrary<UIMessageChunk[]> = fc
  .array(fc.array(segment, { maxLength: 4 }), { minLength: 1, maxLength: 4 })
  .map((steps) => [
    { type: "start", messageId: "m1", messageMetadata: { model: "x" } },
    ...steps.flatMap((segments, step): UIMessageChunk[] => [
      { type: "start-step" },
      ...segments.flatMap((make, index) => make(`id-${step}-${index}`)),
      { type: "finish-step" }
    ]),
    { type: "start-step" },
    { type: "text-start", id: "last" },
    { type: "text-delta", id: "last", delta: "." },
    { type: "text-end", id: "last" },
    { type: "finish-step" },
    { type: "finish", finishReason: "stop", messageMetadata: { done: true } }
  ]);
