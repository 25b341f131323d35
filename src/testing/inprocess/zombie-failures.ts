// Code of an object that is gone may still unwind: its platform calls throw into promises and microtasks that are no longer
// awaited. On the platform that code would not run, so its failures must not reach the test runner. All others pass
// through unchanged.
import { ObjectGone } from "./errors.ts";

const EVENTS = new Set<unknown>(["unhandledRejection", "uncaughtException", "uncaughtExceptionMonitor"]);

let installed = false;

/** Once per Node process. */
export function ignoreZombieFailures(): void {
  if (installed) return;
  installed = true;
  const emit: unknown = Reflect.get(process, "emit");
  if (typeof emit !== "function") return;
  // Listeners come and go with the test runner, so the event is stopped at its source instead of in one of them.
  Object.defineProperty(process, "emit", {
    configurable: true,
    writable: true,
    value: function (this: unknown, event: unknown, ...args: unknown[]): unknown {
      if (EVENTS.has(event) && isFromZombie(args[0])) return true;
      return Reflect.apply(emit, this, [event, ...args]);
    }
  });
}

const CAUSES_FOLLOWED = 16;

function isFromZombie(reason: unknown): boolean {
  let current = reason;
  for (let depth = 0; depth < CAUSES_FOLLOWED && current instanceof Error; depth++) {
    if (current instanceof ObjectGone) return true;
    current = current.cause;
  }
  return false;
}
