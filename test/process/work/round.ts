// One conversation of the kill run: waves of jobs of every kind, in a process that is killed as planned, until the kills are over
// and everything that was begun has come to its end. Then the process is killed once more, and nothing may happen.
import { setTimeout as delay } from "node:timers/promises";
import type { FakeTelegram } from "../../../src/testing/messengers/index.ts";
import type { WorkerServer } from "../../../tools/serve-worker.ts";
import { describeKill, TASK_KIND, type PlannedKill } from "./kill-plan.ts";
import { jobsOfWave, nameOf, type AgentState, type Job, type Places } from "./jobs.ts";
import type { Arrival, Outside } from "./outside.ts";
import { asked, insist, People, readState } from "./people.ts";
import { expectedIn, whyOpen, type RoundRecord } from "./promises.ts";

/** What a kill waits for at most: the effect may not come. */
const TARGET_MS = 5_000;
/** After a job was told to hang. */
const HANGS_MS = 600;
const LOOK_MS = 200;
/** A wave begins so long before the tasks. */
const BESIDE_TASKS_MS = 400;
/** Nothing happens for so long when all is over. */
const QUIET_MS = 1_500;
/** What is not over by then is lost. */
const PATIENCE_MS = 120_000;

export interface RoundInit {
  readonly server: WorkerServer;
  readonly outside: Outside;
  readonly telegram: FakeTelegram;
  readonly places: Places;
  readonly kills: readonly PlannedKill[];
  /** Its last kill is at the tasks. */
  readonly hasTasks: boolean;
}

export interface PlayedRound extends RoundRecord {
  readonly kills: string[];
  readonly waves: number;
  readonly sentAgain: number;
  /** What is wrong beside what the audit finds. */
  readonly problems: string[];
  readonly durationMs: number;
}

export class Round {
  readonly #init: RoundInit;
  readonly #name: string;
  readonly #agent: string;
  readonly #over = new AbortController();
  readonly #people: People;
  readonly #jobs: Job[] = [];
  readonly #problems: string[] = [];
  readonly #kills: string[] = [];
  /** Kills that wait for the minute of the tasks. */
  readonly #lastKills: number;
  #killsLeft: number;
  #hasHung = Promise.withResolvers<void>();
  #state: AgentState | undefined;

  constructor(init: RoundInit) {
    const { server, outside, telegram, places, kills } = init;
    this.#init = init;
    this.#name = nameOf(places);
    this.#agent = `${server.url}/agents/everything/${this.#name}`;
    this.#killsLeft = kills.length;
    this.#lastKills = init.hasTasks ? 1 : 0;
    this.#people = new People({ agent: this.#agent, name: this.#name, outside, telegram, over: this.#over.signal });
  }

  async play(): Promise<PlayedRound> {
    const startedAt = performance.now();
    const { outside } = this.#init;
    // What hangs would end the wait of the last kill for the tasks.
    outside.mayHang = () => this.#killsLeft > this.#lastKills;
    outside.onHang = () => this.#hasHung.resolve();
    const deciding = this.#people.decide();
    const killing = this.#carryOut();
    await this.#people.begin({ type: "recurring", tool: "", id: "recurring" });
    let waves = 0;
    do await this.#playWave(++waves);
    while (this.#killsLeft > this.#lastKills && this.#problems.length === 0);
    if (this.#init.hasTasks && this.#problems.length === 0) {
      // What is left is the kill at the tasks: other work goes on beside them.
      await delay(Math.max(0, msUntil(this.#init.places.minute) - BESIDE_TASKS_MS));
      await this.#playWave(++waves);
    }
    await killing;
    await this.#settle();
    this.#over.abort();
    await deciding;
    return {
      jobs: this.#jobs,
      arrivals: outside.of(this.#name),
      deaths: outside.deaths,
      state: this.#state ?? NOTHING,
      chats: this.#people.chats,
      hasTasks: this.#init.hasTasks,
      kills: this.#kills,
      waves,
      sentAgain: this.#people.sentAgain,
      problems: this.#problems,
      durationMs: performance.now() - startedAt
    };
  }

  async #playWave(wave: number): Promise<void> {
    const jobs = jobsOfWave(wave);
    this.#jobs.push(...jobs);
    const begun = Promise.all(jobs.map((job) => this.#people.begin(job)));
    // Tasks have their own minute: the end of the round waits for them.
    await this.#until(`wave ${wave}`, (record) => {
      return openIn(expectedIn({ jobs, state: record.state, hasTasks: false }), record);
    });
    const late = delay(PATIENCE_MS, "late", { ref: false });
    if ((await Promise.race([begun, late])) === "late") this.#problems.push(`what wave ${wave} began is not answered`);
  }

  /** Until nothing of these is open. */
  async #until(what: string, open: (record: RoundRecord) => string[]): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS;
    let left = ["everything"];
    while (left.length > 0) {
      if (performance.now() > deadline) return void this.#problems.push(`${what} is not over: ${left.join("; ")}`);
      await delay(LOOK_MS);
      const state = await readState(this.#agent);
      if (!state) continue;
      this.#state = state;
      left = open(this.#record(state));
    }
  }

  #record(state: AgentState): RoundRecord {
    const { outside } = this.#init;
    const { deaths } = outside;
    const { hasTasks } = this.#init;
    const arrivals = outside.of(this.#name);
    return { jobs: this.#jobs, arrivals, deaths, state, chats: this.#people.chats, hasTasks };
  }

  /** After the last kill: the recurring work goes on, the tasks had their minute, and then nothing is left to do. */
  async #settle(): Promise<void> {
    const { outside } = this.#init;
    const killedAt = performance.now();
    const recurs = (kind: string) => outside.of(this.#name).some((one) => one.kind === kind && one.at > killedAt);
    await this.#until("recurring work", () => ["interval", "cron"].filter((kind) => !recurs(kind)));
    await this.#until("the round", (record) => [
      ...openIn(expectedIn(record), record),
      ...record.state.pending.map(({ input }) => `${input} waits`),
      ...record.state.submissions.filter(({ status }) => isOpen(status)).map(({ id }) => `${id} runs`),
      ...record.state.fibers.filter(({ status }) => isOpen(status)).map(({ name }) => `${name} runs`)
    ]);
    await insist(`${this.#agent}/stop`, this.#over.signal);
    await delay(QUIET_MS);
    await this.#kill();
    this.#kills.push("the end");
    await this.#start();
    const before = outside.of(this.#name).length;
    await asked(`${this.#agent}/state`);
    await delay(QUIET_MS);
    const after = outside.of(this.#name).slice(before);
    for (const { kind, id, phase } of after) this.#problems.push(`${kind} ${id} ${phase} after everything was over`);
    this.#state = (await readState(this.#agent)) ?? this.#state;
    const { alarmInMs = null } = this.#state ?? {};
    if (alarmInMs !== null && alarmInMs < IDLE_MS) this.#problems.push(`it is idle and wakes in ${alarmInMs} ms`);
  }

  // ── Kills ──

  async #carryOut(): Promise<void> {
    for (const kill of this.#init.kills) {
      await this.#killAt(kill);
      this.#kills.push(describeKill(kill));
      if (kill.restartAfterMs !== undefined) {
        // It may have been killed before it listened, and says so.
        const starting = this.#start().catch(() => undefined);
        await delay(kill.restartAfterMs);
        await this.#kill();
        await starting;
        this.#kills.push(`start + ${Math.round(kill.restartAfterMs)} ms`);
      }
      // What may hang is asked by the next process already.
      this.#killsLeft -= 1;
      await this.#start();
    }
  }

  /** At its moment, or soon if something hangs: only a kill ends that. */
  async #killAt(kill: PlannedKill): Promise<void> {
    const { outside } = this.#init;
    const hung = this.#hasHung.promise.then(() => delay(HANGS_MS));
    const killed = Promise.withResolvers<void>();
    const now = () => {
      outside.beforeAnswer = () => undefined;
      return this.#kill().then(killed.resolve, killed.reject);
    };
    outside.beforeAnswer = (arrival) => {
      if (arrival.agent !== this.#name || !isAt(kill, arrival)) return undefined;
      if (!("at" in kill) || !kill.isAnswered) return now();
      // Its answer is on its way by then.
      setImmediate(() => void now());
      return undefined;
    };
    const longest = delay(this.#longestMs(kill)).then(() => "late");
    const end = await Promise.race([killed.promise, hung.then(() => "late"), longest]);
    if (end === "late") await now();
  }

  #longestMs(kill: PlannedKill): number {
    if (!("at" in kill)) return kill.afterMs;
    // The tasks come with their minute.
    return TARGET_MS + (kill.at === TASK_KIND ? Math.max(0, msUntil(this.#init.places.minute)) : 0);
  }

  async #kill(): Promise<void> {
    await this.#init.server.kill();
    this.#init.outside.killed();
    this.#hasHung = Promise.withResolvers();
  }

  async #start(): Promise<void> {
    this.#init.outside.starts();
    await this.#init.server.start();
  }
}

/** Of HH:MM in UTC, the one that is nearest. */
function msUntil(minute: string): number {
  const day = new Date().toISOString().slice(0, 11);
  const at = Date.parse(`${day}${minute}:00Z`) - Date.now();
  return at < -DAY_MS / 2 ? at + DAY_MS : at;
}

const DAY_MS = 86_400_000;

/** An idle agent may have to clean up later. */
const IDLE_MS = 20_000;

const NOTHING: AgentState = {
  questions: [],
  calls: [],
  submissions: [],
  fibers: [],
  runs: [],
  workflows: [],
  schedules: [],
  deadLetters: 0,
  pending: [],
  alarmInMs: null
};

function isAt(kill: PlannedKill, { kind, phase }: Arrival): boolean {
  return "at" in kill && kill.at === kind && kill.phase === phase;
}

function isOpen(status: string): boolean {
  return status === "pending" || status === "running";
}

function openIn(expected: ReturnType<typeof expectedIn>, record: RoundRecord): string[] {
  return expected.flatMap((one) => {
    const why = whyOpen(one, record);
    return why === undefined ? [] : [`${one.kind} ${one.id}: ${why}`];
  });
}
