import fc from "fast-check";
import { expect, test } from "vitest";
import { byteLength, isLongerThan, readBytes, readText } from "./bytes.ts";

test("a text is longer than a limit exactly when its bytes are", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "é", "€", "😀", "\ud800"), maxLength: 40 });
  fc.assert(
    fc.property(text, fc.nat({ max: 130 }), (value, limit) => {
      expect(isLongerThan(value, limit)).toBe(byteLength(value) > limit);
    }),
    { numRuns: 1_000 }
  );
});

test("a body is read as text, also when it was cut inside of a character, and refused above the limit", async () => {
  const text = "\uFEFFa€😀";
  const bytes = new TextEncoder().encode(text);
  const body = () =>
    new ReadableStream<Uint8Array>({
      start(controller) {
        for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
        controller.close();
      }
    });
  expect(await readText(body(), bytes.byteLength)).toBe(await new Response(text).text());
  expect(await readText(body(), bytes.byteLength - 1)).toBeUndefined();
  expect(await readText(null, 0)).toBe("");
});

test("a body is read as bytes, and a longer one is left where the limit is", async () => {
  let isCancelled = false;
  const body = () =>
    new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(Uint8Array.of(1, 2, 3)),
      cancel: () => {
        isCancelled = true;
      }
    });
  expect(await readBytes(body(), 100)).toBeUndefined();
  expect(isCancelled).toBe(true);
  expect(await readBytes(new Response("abc").body, 3)).toEqual(Uint8Array.of(97, 98, 99));
  expect(await readBytes(null, 0)).toEqual(new Uint8Array(0));
});
