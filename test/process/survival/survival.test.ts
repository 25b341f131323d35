// Work of every kind, in an agent and in its sub-agent, on a process that is killed twenty times: whenever a random
// number of progress lines has been printed. Between the kills no client calls the agent except to hand it a new batch of
// work: everything is picked up by the alarm alone.
import { expect, test } from "vitest";
import { EventLog } from "../clients/event-log.ts";
import { startWorker, type WorkerServer } from "../workerd-process.ts";
import { audit, type Audit, jobKeys, workKeys } from "./audit.ts";
import type { Books } from "./books.ts";

const KILLS = 20;
const MOST_EVENTS_BEFORE_A_KILL = 50;
/** Another seed kills at other points. */
const SEED = Number(process.env.SURVIVAL_SEED ?? 7);
/** A sub-agent whose wakes are cut off several times in a row is left alone for a while. */
const DEADLINE_MS = 60_000;
const AGENTS = ["survivor", "helper"];

interface Progress {
  agent: string;
  kind: string;
  key: string;
}

interface Report {
  own: Books;
  helpers: Books;
  alarm: number | null;
}

test(`nothing is lost when the process is killed ${KILLS} times while it works`, async () => {
  const progress = new EventLog<Progress>(DEADLINE_MS);
  const entry = new URL("./laborer-worker.ts", import.meta.url);
  const server = await startWorker({ entry, objects: ["Laborer"], onOutput: progressLines(progress.add) });
  const batches = new Batches(server, progress);
  const random = seededIntegers(SEED);
  const killPoints: string[] = [];

  while (killPoints.length < KILLS) {
    const from = progress.events.length;
    const refusal = batches.next().then(
      () => undefined,
      (error: unknown) => error
    );
    const count = random(MOST_EVENTS_BEFORE_A_KILL + 1);
    await progress.find(() => progress.events.length >= from + count);
    await server.kill();
    expect(await refusal).toBeUndefined();
    const last = progress.events.at(-1);
    killPoints.push(count === 0 || !last ? "0 (at the start)" : `${count} (${last.agent}: ${last.kind} ${last.key})`);
    await server.start();
  }
  await batches.finish();
  await ask(server, "stop");
  await expect.poll(async () => (await books(server)).alarm, { timeout: 20_000 }).toBeNull();

  const { own, helpers } = await books(server);
  const audits = { survivor: audit(own, batches.count, KILLS), helper: audit(helpers, batches.count, KILLS) };
  printTable(killPoints, batches.count, audits, { survivor: own.intervalRuns, helper: helpers.intervalRuns });
  expect(audits.survivor.problems).toEqual([]);
  expect(audits.helper.problems).toEqual([]);
  expect(own.intervalRuns).toBeGreaterThan(0);
  expect(helpers.intervalRuns).toBeGreaterThan(0);
  expect(audits.survivor.interrupted + audits.helper.interrupted).toBeGreaterThan(0);
  await server.stop();
});

/** Hands out the next batch of work when the one before is done, and again what a kill kept from being accepted. */
class Batches {
  count = 0;
  #isAccepted = true;
  readonly #server: WorkerServer;
  readonly #progress: EventLog<Progress>;

  constructor(server: WorkerServer, progress: EventLog<Progress>) {
    this.#server = server;
    this.#progress = progress;
  }

  async next(): Promise<void> {
    if (this.#isAccepted && this.#isDone()) {
      this.count += 1;
      this.#isAccepted = false;
    }
    if (this.#isAccepted) return;
    try {
      await ask(this.#server, `begin?batch=${this.count}`);
      this.#isAccepted = true;
    } catch (error) {
      // A TypeError is how fetch says that the connection broke: the kill came first. Asked again after the restart.
      if (!(error instanceof TypeError)) throw error;
    }
  }

  /** Resolves when everything handed out has been seen to end, and the intervals to go on, without asking for it. */
  async finish(): Promise<void> {
    const from = this.#progress.events.length;
    if (!this.#isAccepted) await this.next();
    await this.#progress.find(() => this.#isDone());
    for (const name of AGENTS) {
      await this.#progress.find(
        ({ agent, kind, key }) => agent === name && kind === "ended" && key === "interval",
        from
      );
    }
  }

  #isDone(): boolean {
    return AGENTS.every((agent) => {
      const ended = new Set<string>();
      for (const event of this.#progress.events) {
        const isOver = event.kind === "ended" || (event.kind === "recovered" && event.key.startsWith("settle"));
        if (event.agent === agent && isOver) ended.add(event.key);
      }
      return batchNumbers(this.count).every((batch) =>
        [...workKeys(batch), ...jobKeys(batch)].every((key) => ended.has(key))
      );
    });
  }
}

function batchNumbers(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

async function ask(server: WorkerServer, path: string): Promise<Response> {
  const response = await fetch(`${server.url}/agents/laborer/survivor/${path}`);
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
  return response;
}

async function books(server: WorkerServer): Promise<Report> {
  return (await ask(server, "books")).json() as Promise<Report>;
}

/** Cuts the output into lines and reads those that report progress. */
function progressLines(add: (event: Progress) => void): (text: string) => void {
  let rest = "";
  return (text) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const at = line.indexOf("progress {");
      if (at >= 0) add(JSON.parse(line.slice(at + "progress ".length)) as Progress);
    }
  };
}

/** Whole numbers below a limit, the same for the same seed (a linear congruential generator). */
function seededIntegers(seed: number): (limit: number) => number {
  // Neighbouring seeds must not begin alike.
  let state = Math.imul(seed, 2_654_435_761) >>> 0;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

function printTable(
  killPoints: string[],
  batches: number,
  audits: Record<"survivor" | "helper", Audit>,
  intervalRuns: Record<"survivor" | "helper", number>
): void {
  console.log(`seed ${SEED}, ${batches} batches; killed after so many events: ${killPoints.join(", ")}`);
  console.table(
    Object.fromEntries(
      Object.entries(audits).map(([agent, { problems, ...numbers }]) => [
        agent,
        { ...numbers, intervalRuns: intervalRuns[agent as keyof typeof intervalRuns], problems: problems.length }
      ])
    )
  );
}
