import { expect, test } from "vitest";
import { Calls, DEFAULT_CALL_TIMEOUT_MS, MAX_OPEN_CALLS } from "./calls.ts";
import { ManualTimers } from "./manual-timers.test-support.ts";
import { Outbox } from "./outbox.ts";

function stage() {
  const timers = new ManualTimers();
  const network = { isOpen: true, sent: [] as string[] };
  let ids = 0;
  const outbox = new Outbox({
    isGreeted: () => false,
    send: (text) => {
      if (network.isOpen) network.sent.push(text);
      return network.isOpen;
    }
  });
  const calls = new Calls({ timers, outbox, newId: () => `${(ids += 1)}` });
  return { calls, timers, network, outbox };
}

const code = (promise: Promise<unknown>) =>
  promise.then(
    () => "resolved",
    (error: { code?: string }) => error.code
  );

test("a call is answered by its id, in any order", async () => {
  const { calls } = stage();
  const [one, two] = [calls.call("a", []), calls.call("b", [])];
  calls.answered("2", { ok: true, result: "two", isDone: true });
  calls.answered("1", { ok: false, error: "no" });
  expect(await two).toBe("two");
  await expect(one).rejects.toMatchObject({ code: "call-failed", message: "no" });
});

test("a call that never left waits for the next connection and leaves once", async () => {
  const { calls, network, outbox } = stage();
  network.isOpen = false;
  const call = calls.call("a", [1]);
  outbox.dropped(false);
  network.isOpen = true;
  outbox.pump();
  outbox.pump();
  expect(network.sent).toHaveLength(1);
  calls.answered("1", { ok: true, result: 1, isDone: true });
  expect(await call).toBe(1);
});

test("a call that left before the connection broke is lost and never repeated", async () => {
  const { calls, network, outbox } = stage();
  const call = code(calls.call("a", []));
  outbox.dropped(false);
  outbox.pump();
  expect(await call).toBe("call-lost");
  expect(network.sent).toHaveLength(1);
});

test("every call has a deadline, also one that waits for a connection, and leaves no timer behind", async () => {
  const { calls, timers, network, outbox } = stage();
  network.isOpen = false;
  const outcomes = [code(calls.call("a", [])), code(calls.call("b", [], { timeoutMs: 5 }))];
  timers.advance(5);
  expect(await outcomes[1]).toBe("call-timeout");
  timers.advance(DEFAULT_CALL_TIMEOUT_MS);
  expect(await outcomes[0]).toBe("call-timeout");
  network.isOpen = true;
  outbox.pump();
  expect(network.sent).toEqual([]);
  expect(timers.size).toBe(0);
});

test("a stream hands out its chunks and resolves with its end, without a deadline of its own", async () => {
  const { calls, timers } = stage();
  const chunks: unknown[] = [];
  const call = calls.call("count", [], { onChunk: (chunk) => chunks.push(chunk) });
  timers.advance(10 * DEFAULT_CALL_TIMEOUT_MS);
  calls.answered("1", { ok: true, result: 1, isDone: false });
  calls.answered("1", { ok: true, result: 2, isDone: false });
  calls.answered("1", { ok: true, result: "end", isDone: true });
  expect([chunks, await call]).toEqual([[1, 2], "end"]);
});

test("a caller may stop waiting, and all stop when the client is closed", async () => {
  const { calls } = stage();
  const controller = new AbortController();
  const given = calls.call("a", [], { signal: controller.signal });
  controller.abort(new Error("enough"));
  await expect(given).rejects.toThrow("enough");
  const open = code(calls.call("b", []));
  calls.closed();
  expect(await open).toBe("client-closed");
});

test("there is a limit to what waits", async () => {
  const { calls } = stage();
  const open = Array.from({ length: MAX_OPEN_CALLS }, () => code(calls.call("a", [])));
  expect(await code(calls.call("a", []))).toBe("client-queue-full");
  calls.closed();
  expect(new Set(await Promise.all(open))).toEqual(new Set(["client-closed"]));
});
