// What can go wrong during a run, as plain objects the stage asks: when to die, when to die again, which frames arrive
// how often, who connects when. Each is made for one run and names the point it strikes at.
import { SeededIds } from "../inprocess/seeded-ids.ts";
import type { ChatFrame } from "./chat-view.ts";
import type { Stage } from "./stage.ts";

export const CHAOS_MODES = [
  "after-write",
  "inside-await",
  "killed-twice",
  "restart-storm",
  "deadly-answer",
  "duplicate-frame",
  "shuffled-frames",
  "join-anywhere",
  "poison-row"
] as const;

/** A way to disturb a conversation; `formatChaos` explains each. */
export type ChaosMode = (typeof CHAOS_MODES)[number];

export interface Disturbance {
  readonly mode: ChaosMode | "undisturbed";
  /** Where it strikes, e.g. `write 12`. */
  readonly point: string;
  /** A point that is not reached means that two runs of the conversation differ. */
  readonly mustStrike?: boolean;
  /** Turns may fail: the agent is right to give up at some time. */
  readonly mayGiveUp?: boolean;
  /** How long no client is there after a death. */
  readonly clientsStayAwayMs?: number;
  begin?(stage: Stage): void;
  /** The process is dead; arm the next death, or change what is stored. */
  died?(stage: Stage): void;
  /** The conversation is over, or was ended by `died`. */
  afterwards?(stage: Stage): Promise<void>;
  atBoundary?(stage: Stage, count: number): void;
  copies?(frame: ChatFrame, count: number): number;
}

export const UNDISTURBED: Disturbance = { mode: "undisturbed", point: "none" };

/** Every other time no client is there to wake the agent: longer than the agent may sleep after a death. */
const ABSENCE_MS = 90_000;

type KillKind = "write" | "await";

export interface KillPoint {
  readonly kind: KillKind;
  readonly number: number;
}

function arm({ object: { host } }: Stage, { kind, number }: KillPoint): void {
  if (kind === "write") host.crashAfterWrite(number);
  else host.crashInsideAwait(number);
}

export function killOnce(point: KillPoint): Disturbance {
  return {
    mode: point.kind === "write" ? "after-write" : "inside-await",
    point: `${point.kind} ${point.number}`,
    mustStrike: true,
    clientsStayAwayMs: point.number % 2 === 0 ? ABSENCE_MS : 0,
    begin: (stage) => arm(stage, point)
  };
}

/** The second point counts from the first death, so it may fall into the start, the recovery or later work. */
export function killTwice(first: KillPoint, second: KillPoint): Disturbance {
  return {
    mode: "killed-twice",
    point: `${first.kind} ${first.number}, then ${second.kind} ${second.number}`,
    mustStrike: true,
    clientsStayAwayMs: first.number % 2 === 0 ? ABSENCE_MS : 0,
    begin: (stage) => arm(stage, first),
    died: (stage) => {
      if (stage.deaths === 1) arm(stage, second);
    }
  };
}

const STORM_RESTARTS = 30;
/** A storm kills a process after so few awaits that it gets nowhere, or just somewhere. */
const STORM_AWAITS = [3, 9, 14, 5, 20];

export function restartStorm(first: KillPoint): Disturbance {
  return {
    mode: "restart-storm",
    point: `${STORM_RESTARTS} deaths from ${first.kind} ${first.number}`,
    mustStrike: true,
    mayGiveUp: true,
    begin: (stage) => arm(stage, first),
    died: (stage) => {
      if (stage.deaths >= STORM_RESTARTS) return;
      arm(stage, { kind: "await", number: STORM_AWAITS[stage.deaths % STORM_AWAITS.length] ?? 1 });
    }
  };
}

/** From this boundary on dies at every boundary of the same step, like an answer that always runs out of memory. */
export function deadlyAnswer(boundary: number): Disturbance {
  let deadlyStep: string | undefined;
  return {
    mode: "deadly-answer",
    point: `every boundary of a step from ${boundary} on`,
    mustStrike: true,
    mayGiveUp: true,
    atBoundary: (stage, count) => {
      if (count === boundary) deadlyStep = stage.currentStep;
      if (stage.currentStep === deadlyStep) stage.object.host.kill();
    }
  };
}

export function duplicateFrame(number: number, copies: number): Disturbance {
  return {
    mode: "duplicate-frame",
    point: number === 0 ? `every frame ${copies + 1} times` : `frame ${number} ${copies + 1} times`,
    copies: (_frame, count) => (number === 0 || count === number ? copies : 0)
  };
}

export function shuffledFrames(seed: number): Disturbance {
  return {
    mode: "shuffled-frames",
    point: `seed ${seed}`,
    begin: ({ object }) => object.host.reorderFrames(seed),
    copies: () => seed % 3
  };
}

/** A further client comes in the middle of everything, and must end with the same list. */
export function joinAnywhere(boundary: number): Disturbance {
  return {
    mode: "join-anywhere",
    point: `boundary ${boundary}`,
    atBoundary: (stage, count) => {
      // It fails only with the process, and then the stage opens it again.
      if (count === boundary)
        stage
          .addClient()
          .open()
          .catch(() => {});
    }
  };
}

/** At most `limit` of the items, evenly spread. */
export function spread<T>(items: readonly T[], limit: number): T[] {
  if (items.length <= limit) return [...items];
  const at = (index: number) => Math.floor((index * limit) / items.length);
  return items.filter((_, index) => at(index) !== at(index - 1));
}

/** Numbers from 0 to 1 that a seed decides. */
export function seededRandom(seed: number): () => number {
  const ids = new SeededIds(seed);
  return () => ids.random();
}
