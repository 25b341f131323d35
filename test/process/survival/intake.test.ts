// A hundred submissions, ten SIGKILLs: what was accepted is run, once, in order, and the caller that tries again under the
// same key gets the same submission.
import { expect, test, vi } from "vitest";
import { startWorker, type WorkerServer } from "../workerd-process.ts";

// Ten starts of workerd, and a hundred turns.
vi.setConfig({ testTimeout: 120_000 });

const SUBMISSIONS = 100;
const KILLS = 10;

interface Stored {
  submissions: { id: string; key_name: string; status: string | null }[];
  messages: { id: string; role: string }[];
}

/** As a webhook's sender does: again, under the same key, until it has an answer. */
async function deliver(server: WorkerServer, number: number): Promise<string> {
  for (;;) {
    try {
      const response = await fetch(`${server.url}/agents/intake/a/submit`, {
        method: "POST",
        headers: { "Content-Type": "application/json", "Idempotency-Key": `evt-${number}` },
        body: JSON.stringify({ input: `question ${number}` })
      });
      const { submissionId } = (await response.json()) as { submissionId?: string };
      if (response.ok && submissionId !== undefined) return submissionId;
    } catch {
      // The process is gone; it comes back.
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function stored(server: WorkerServer): Promise<Stored> {
  return (await fetch(`${server.url}/agents/intake/a/stored`)).json() as Promise<Stored>;
}

test("accepted submissions reach one end each, in order, whatever is killed", async () => {
  const entry = new URL("./intake-worker.ts", import.meta.url);
  const server = await startWorker({ entry, objects: ["Intake"] });
  const delivering = (async () => {
    const ids: string[] = [];
    for (let number = 0; number < SUBMISSIONS; number += 1) ids.push(await deliver(server, number));
    return ids;
  })();
  for (let kill = 0; kill < KILLS; kill += 1) {
    await new Promise((resolve) => setTimeout(resolve, 120 + 37 * kill));
    await server.kill();
    await server.start();
  }
  const ids = await delivering;
  await vi.waitFor(
    async () => expect((await stored(server)).submissions.filter(({ status }) => status === null)).toEqual([]),
    { timeout: 90_000, interval: 200 }
  );
  const { submissions, messages } = await stored(server);
  expect(submissions.map(({ id }) => id)).toEqual(ids);
  expect(new Set(submissions.map(({ status }) => status))).toEqual(new Set(["completed"]));
  expect(messages.map(({ role }) => role)).toEqual(
    Array.from({ length: SUBMISSIONS }, () => ["user", "assistant"]).flat()
  );
  await server.stop();
});
