// A queue of turns that fail without any I/O, in a real workerd, which looks at its sockets only when it has nothing to do:
// 300 such turns in one go made every other agent of the process wait for the last of them.
import { expect, test } from "vitest";
import { startWorker } from "./workerd-process.ts";

const TURNS = 300;
/** Turns of the queue that begin while another agent answers one question: a few for each of its own commits. */
const MOST_BETWEEN = 100;

interface Answer {
  begun: number;
  answer?: string;
  open?: number;
}

test(`another agent answers while ${TURNS} turns of a queue fail, and all of them end`, async () => {
  const entry = new URL("./fixtures/failing-queue-worker.ts", import.meta.url);
  const server = await startWorker({ entry, objects: ["Failing", "Talker"], onOutput: () => undefined });
  const get = async (path: string) => (await (await fetch(`${server.url}${path}`)).json()) as Answer;
  // Its object is started, as the one with the queue is.
  expect((await get("/ask")).answer).toBe("Here I am.");
  expect(await get(`/fill?count=${TURNS}`)).toEqual({ begun: 1 });
  const { begun: before } = await get("/release");
  const { begun: after, answer } = await get("/ask");
  expect(answer).toBe("Here I am.");
  expect(after - before).toBeLessThan(MOST_BETWEEN);
  expect(after).toBeLessThan(TURNS);
  await expect.poll(async () => (await get("/open")).open, { timeout: 60_000, interval: 200 }).toBe(0);
  // Each was begun once.
  expect((await get("/begun")).begun).toBe(TURNS + 1);
  await server.stop();
});
