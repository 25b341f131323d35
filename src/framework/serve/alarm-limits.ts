// How many agents their alarms may wake, from how many files may be open. workerd opens three for each object (the database,
// its log and the log's index), and keeps them until the object has been idle for ten seconds.
import { spawnSync } from "node:child_process";
import type { AlarmLimits } from "../../host/process-alarms.ts";

const FILES_PER_OBJECT = 3;
/** Half of the files is for clients and for the agents they talk to. */
const SHARE = 0.5;
/** For workerd itself, its libraries and pipes. */
const OWN_FILES = 128;
/** How long workerd keeps an idle object. */
const IDLE_SECONDS = 10;
/** What one core starts in a second, with time left for clients. See docs/decisions.md. */
const MOST: AlarmLimits = { perSecond: 25, atOnce: 500 };
const SHARE_AT_START = 0.6;
/** A process that does not answer is ended within this time. */
const NOTICED_MS = 2 * 60_000;
/** With fewer files than these the limits are lower than they could be. */
const ENOUGH_FILES = 8_192;

/** Pure. Half of the objects may be idle ones that workerd has not put away yet. */
export function alarmLimits(openFiles: number): AlarmLimits {
  const objects = Math.max(0, ((openFiles - OWN_FILES) * SHARE) / FILES_PER_OBJECT);
  return {
    perSecond: clamp(objects / 2 / IDLE_SECONDS, MOST.perSecond),
    atOnce: clamp(objects / 2, MOST.atOnce)
  };
}

/**
 * For alarms of earlier processes, which the next one finds at its start and cannot move: a share, the rest is for what its
 * agents set. A process that they were too much for is followed by one that is given half as many.
 */
export class StartLimits {
  readonly #limits: AlarmLimits;
  #overruns = 0;
  #startedAt = 0;
  #busyUntil = 0;

  constructor(limits: AlarmLimits) {
    this.#limits = limits;
  }

  /** For a start now. `frozenUntil`: when the last process that its own work had stopped was gone. */
  at(nowMs: number, frozenUntil = 0): AlarmLimits {
    if (nowMs >= this.#busyUntil + NOTICED_MS) this.#overruns = 0;
    else if (frozenUntil > this.#startedAt) this.#overruns += 1;
    this.#startedAt = nowMs;
    const share = (this.#limits.perSecond * SHARE_AT_START) / 2 ** this.#overruns;
    return { ...this.#limits, perSecond: clamp(share, this.#limits.perSecond) };
  }

  /** The last of the alarms that were due at the start runs at this time. */
  busyUntil(atMs: number): void {
    this.#busyUntil = atMs;
  }
}

function clamp(value: number, most: number): number {
  return Math.max(1, Math.min(most, Math.floor(value)));
}

/** What this process may open, and the ones it starts. Node has raised it to what the system allows. */
export function openFileLimit(): number {
  const { stdout } = spawnSync("/bin/sh", ["-c", "ulimit -n"], { encoding: "utf8" });
  const limit = Number.parseInt(stdout ?? "", 10);
  // "unlimited"
  return Number.isNaN(limit) ? Infinity : limit;
}

/** What the operator reads at the start. */
export function limitsText(openFiles: number, { perSecond, atOnce }: AlarmLimits): string {
  return `${inWords(openFiles)} files may be open. Alarms wake ${perSecond} agents a second, and no more while ${atOnce} of them work.`;
}

export function fewFilesWarning(openFiles: number): string | undefined {
  if (openFiles >= ENOUGH_FILES) return undefined;
  return (
    `Only ${inWords(openFiles)} files may be open: an agent needs ${FILES_PER_OBJECT}, a connection 1. ` +
    `Allow at least ${inWords(ENOUGH_FILES)} (ulimit -n; LimitNOFILE= of a systemd unit).`
  );
}

function inWords(files: number): string {
  return Number.isFinite(files) ? files.toLocaleString("en-US") : "Any number of";
}
