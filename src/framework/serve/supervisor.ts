// Keeps one workerd running: starts it, asks regularly whether it answers, kills it when it does not, starts it again
// after it died, and gives up when it only dies. It knows processes, time and questions through ports, so that tests
// need neither. Two never run at once: a new one is started only when the one before is gone.
import { backoffMs, type Backoff } from "../../util/backoff.ts";
import { errorMessage } from "../../util/errors.ts";
import { serveErrors } from "./errors.ts";

/** A run at least this long counts as healthy: the next death is the first again. */
export const STABLE_MS = 60_000;
/** Deaths in a row, each within STABLE_MS of its start, after which the supervisor gives up. */
export const QUICK_DEATH_LIMIT = 10;
const PAUSES: Backoff = { baseMs: 500, maxMs: 30_000 };
/** Longest pause between two questions. */
export const HEALTH_PAUSE_MS = 5_000;
/** Pause before asking again when the answer was no. */
const RETRY_PAUSE_MS = 500;
/**
 * A timer that is later than this was late because this process did not run: a laptop slept, a container was paused, Ctrl-Z.
 * workerd did not run either, so its silence of that time says nothing, and it is asked anew.
 */
const SUSPENDED_MS = 5_000;

export interface Supervised {
  readonly port: number;
  readonly ended: Promise<string>;
  signal(signal: "SIGKILL"): void;
  stop(graceMs: number, hurry?: AbortSignal): Promise<void>;
}

export interface SupervisorPorts {
  /** Resolves when it listens. `frozenUntil`: when the last one that its own work had stopped was gone, by `date`. */
  launch(frozenUntil: number | undefined): Promise<Supervised>;
  isAnswering(port: number, timeoutMs: number): Promise<boolean>;
  /** Milliseconds that never jump. */
  now(): number;
  /** Milliseconds as the agents' own clock has them. */
  date(): number;
  /** Returns early when aborted. */
  pause(durationMs: number, signal: AbortSignal): Promise<void>;
  log(text: string): void;
  /** How many processes the system has killed because it had no memory left; undefined: it does not say. */
  memoryKills?(): number | undefined;
  /** When the last process that its own work had stopped was gone, by `date`, as an earlier supervisor has kept it. */
  lastDeath?(): number | undefined;
  /** Keeps that time for later supervisors. Must not throw. */
  keepDeath?(atMs: number): void;
  /** Resolves when the user wants the process killed, to see what happens; never after `over`. */
  untilPulled?(over: AbortSignal): Promise<void>;
}

export interface SupervisorLimits {
  /** Without an answer for this long it is taken for frozen. */
  healthTimeoutMs: number;
  /** From a graceful stop to SIGKILL. */
  graceMs: number;
}

export interface StopSignals {
  /** Aborted: stop gracefully. */
  stop: AbortSignal;
  /** Aborted: stop at once. */
  hurry: AbortSignal;
}

/** Returns when it was asked to stop. Throws when the first start fails, or when it gives up. */
export async function supervise(
  ports: SupervisorPorts,
  limits: SupervisorLimits,
  { stop, hurry }: StopSignals
): Promise<void> {
  let quickDeaths = 0;
  // Kept for every later start: what was interrupted then may not have been looked at before the next death.
  let frozenUntil = ports.lastDeath?.();
  for (let isFirst = true; !stop.aborted; isFirst = false) {
    const startedAt = ports.now();
    const memoryKills = ports.memoryKills?.();
    const running = await startOnce(ports, { isFirst, frozenUntil });
    if (running) {
      const end = await watch(running, { ports, limits, stop });
      if (end.what === "stopped") return await running.stop(limits.graceMs, hurry);
      const hadMemory = ports.memoryKills?.() === memoryKills;
      // What runs untrusted code must not send it into the next process: one death by it is enough.
      if (end.what === "frozen" || (end.what === "died" && isOwnDeath(end.how, hadMemory))) {
        frozenUntil = ports.date();
        ports.keepDeath?.(frozenUntil);
      }
      ports.log(end.text);
      // Killed on purpose: no sign of bad health, and no reason to wait.
      if (end.what === "pulled") continue;
    }
    const next = decideRestart(quickDeaths, ports.now() - startedAt);
    if (next.do === "give-up") throw serveErrors.GaveUpError(next.quickDeaths, STABLE_MS);
    quickDeaths = next.quickDeaths;
    ports.log(next.afterMs === 0 ? "Starting it again." : `Starting it again in ${next.afterMs / 1000} s.`);
    await ports.pause(next.afterMs, stop);
  }
}

/** A first start that fails is for the operator at the terminal; a later one is one more death. */
async function startOnce(
  ports: SupervisorPorts,
  { isFirst, frozenUntil }: { isFirst: boolean; frozenUntil: number | undefined }
): Promise<Supervised | undefined> {
  try {
    const running = await ports.launch(frozenUntil);
    if (!isFirst) ports.log("workerd runs again.");
    return running;
  } catch (error) {
    if (isFirst) throw error;
    ports.log(errorMessage(error));
    return undefined;
  }
}

interface Watch {
  ports: SupervisorPorts;
  limits: SupervisorLimits;
  stop: AbortSignal;
}

type WatchEnd =
  /** It still runs, and shall stop. */
  | { what: "stopped" }
  /** It is gone. */
  | { what: "died"; how: string; text: string }
  | { what: "frozen" | "pulled"; text: string };

async function watch(running: Supervised, { ports, limits, stop }: Watch): Promise<WatchEnd> {
  const over = new AbortController();
  const stopped = new Promise<"stopped">((resolve) => {
    if (stop.aborted) resolve("stopped");
    stop.addEventListener("abort", () => resolve("stopped"), { once: true, signal: over.signal });
  });
  const what = await Promise.race([
    running.ended.then(() => "ended" as const),
    untilFrozen(running.port, { ports, limits, stop: AbortSignal.any([stop, over.signal]) }),
    stopped,
    ...(ports.untilPulled ? [ports.untilPulled(over.signal).then(() => "pulled" as const)] : [])
  ]);
  over.abort();
  if (what === "stopped") return { what };
  if (what !== "ended") running.signal("SIGKILL");
  const how = await running.ended;
  switch (what) {
    case "pulled":
      return { what, text: "The plug was pulled: workerd was killed." };
    case "frozen":
      return { what, text: `workerd did not answer for ${limits.healthTimeoutMs / 1000} s and was killed.` };
    case "ended":
      return { what: "died", how, text: `workerd ended: ${how}.` };
  }
}

/** Also a question that fails at once counts as unanswered: what matters is how long there has been no answer. */
async function untilFrozen(port: number, { ports, limits, stop }: Watch): Promise<"frozen" | "stopped"> {
  const usualPauseMs = Math.min(HEALTH_PAUSE_MS, limits.healthTimeoutMs);
  let silentSince: number | undefined;
  for (;;) {
    const pauseMs = silentSince === undefined ? usualPauseMs : RETRY_PAUSE_MS;
    const pausedAt = ports.now();
    await ports.pause(pauseMs, stop);
    if (stop.aborted) return "stopped";
    const askedAt = ports.now();
    if (askedAt - pausedAt > pauseMs + SUSPENDED_MS) silentSince = undefined;
    const patienceMs = limits.healthTimeoutMs - (askedAt - (silentSince ?? askedAt));
    const isAnswered = await ports.isAnswering(port, patienceMs);
    const wasSuspended = ports.now() - askedAt > Math.max(0, patienceMs) + SUSPENDED_MS;
    if (isAnswered || wasSuspended) silentSince = undefined;
    else silentSince ??= askedAt;
    if (silentSince !== undefined && ports.now() - silentSince >= limits.healthTimeoutMs) return "frozen";
  }
}

/** Signals that come from outside: an operator, a shell, a shutdown. */
const OUTSIDE_SIGNALS: ReadonlySet<string> = new Set(["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"]);

/** Whether what ran in the process ended it, such as code that took all memory. `how` is "code 1" or a signal. Pure. */
export function isOwnDeath(how: string, hadMemory: boolean): boolean {
  if (how === "code 0" || OUTSIDE_SIGNALS.has(how)) return false;
  return how !== "SIGKILL" || !hadMemory;
}

type RestartDecision = { do: "restart"; afterMs: number; quickDeaths: number } | { do: "give-up"; quickDeaths: number };

/** What follows when workerd has ended by itself. `quickDeaths` are those in a row before this one. Pure. */
export function decideRestart(quickDeaths: number, ranMs: number): RestartDecision {
  if (ranMs >= STABLE_MS) return { do: "restart", afterMs: 0, quickDeaths: 0 };
  const deaths = quickDeaths + 1;
  if (deaths >= QUICK_DEATH_LIMIT) return { do: "give-up", quickDeaths: deaths };
  // The first one is most often a single accident: clients should hardly notice.
  const afterMs = deaths === 1 ? 0 : backoffMs(deaths - 2, PAUSES);
  return { do: "restart", afterMs, quickDeaths: deaths };
}
