import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { answerWithBody, BODY_GRACE, LEAST_BODY_BYTES_PER_SECOND } from "./body-timeout.ts";

/** The longest silence that is allowed. */
const BODY_SILENCE_MS = 30_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A request whose body arrives when the test says so. */
function sending() {
  const pipe = new TransformStream<Uint8Array, Uint8Array>();
  const writer = pipe.writable.getWriter();
  const init: RequestInit & { duplex: "half" } = { method: "POST", body: pipe.readable, duplex: "half" };
  return {
    request: new Request("http://localhost/", init),
    send: (text: string) => writer.write(new TextEncoder().encode(text)),
    end: () => writer.close()
  };
}

const echo = async (request: Request) => new Response(await request.text());

test("a body that stops arriving is answered with 408, and its reader fails", async () => {
  const { request, send } = sending();
  const read = vi.fn(echo);
  const answer = answerWithBody(request, BODY_SILENCE_MS, read);
  await send("half of");
  await vi.advanceTimersByTimeAsync(BODY_SILENCE_MS);
  expect((await answer).status).toBe(408);
  await expect(read.mock.results[0]?.value).rejects.toThrow("did not arrive in time");
});

test("a body that arrives slowly arrives whole", async () => {
  const { request, send, end } = sending();
  const answer = answerWithBody(request, BODY_SILENCE_MS, echo);
  for (const piece of ["one ", "two ", "three"]) {
    await vi.advanceTimersByTimeAsync(BODY_SILENCE_MS - 1);
    await send(piece);
  }
  await end();
  expect(await (await answer).text()).toBe("one two three");
  expect(vi.getTimerCount()).toBe(0);
});

test("a body of which a byte arrives now and then is given up after four silences", async () => {
  const { request, send } = sending();
  const answer = answerWithBody(request, BODY_SILENCE_MS, echo);
  const answered = vi.fn();
  void answer.then(answered);
  // The last bytes find a body that is given up.
  const byteAfter = async (ms: number) => {
    await vi.advanceTimersByTimeAsync(ms);
    await send("b").catch(() => undefined);
  };
  for (let bytes = 0; bytes < BODY_GRACE; bytes += 1) await byteAfter(BODY_SILENCE_MS - 1_000);
  expect(answered).not.toHaveBeenCalled();
  await byteAfter(BODY_SILENCE_MS - 1_000);
  expect(answered).toHaveBeenCalled();
  expect((await answer).status).toBe(408);
});

test("a large body takes as long as it needs at the least rate", async () => {
  const { request, send, end } = sending();
  const answer = answerWithBody(request, BODY_SILENCE_MS, echo);
  const piece = "x".repeat(20 * LEAST_BODY_BYTES_PER_SECOND);
  for (let pieces = 0; pieces < 60; pieces += 1) {
    await vi.advanceTimersByTimeAsync(20_000);
    await send(piece);
  }
  await end();
  expect(await (await answer).text()).toBe(piece.repeat(60));
});

test("a slow reader is not the sender's fault", async () => {
  const { request, send, end } = sending();
  const answer = answerWithBody(request, BODY_SILENCE_MS, async (whole) => {
    const reader = whole.body?.getReader();
    let bytes = 0;
    for (let next = await reader?.read(); next && !next.done; next = await reader?.read()) {
      bytes += next.value.byteLength;
      await new Promise((resolve) => setTimeout(resolve, 10 * BODY_SILENCE_MS));
    }
    return new Response(String(bytes));
  });
  // All of it is sent at once, and taken as the reader asks for it.
  for (let pieces = 0; pieces < 5; pieces += 1) void send("piece");
  void end();
  await vi.advanceTimersByTimeAsync(60 * BODY_SILENCE_MS);
  expect(await (await answer).text()).toBe("25");
});

test("a request without a body, and a Worker that answers before the body is there, are not waited for", async () => {
  const bare = new Request("http://localhost/");
  const passed = vi.fn(async (_request: Request) => new Response("ok"));
  expect(await (await answerWithBody(bare, BODY_SILENCE_MS, passed)).text()).toBe("ok");
  expect(passed.mock.calls[0]?.[0]).toBe(bare);
  expect(await (await answerWithBody(sending().request, BODY_SILENCE_MS, passed)).text()).toBe("ok");
});

test("what the Worker throws is thrown", async () => {
  const { request, end } = sending();
  await end();
  const failing = answerWithBody(request, BODY_SILENCE_MS, () => Promise.reject(new Error("of the Worker")));
  await expect(failing).rejects.toThrow("of the Worker");
});
