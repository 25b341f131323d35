// The virtual clock and seeded ids of the host that made a `ctx`, found again by that `ctx`.
import type { ObjectActivation } from "./activation.ts";
import type { Clock, Ids } from "../../host/ports.ts";
import { standIn } from "./stand-in.ts";

export interface ObjectServices {
  clock: Clock;
  ids: Ids;
  /** Shared by all objects until the process dies. */
  process: object;
}

const services = new WeakMap<object, ObjectServices>();

export function rememberServices(state: object, activation: ObjectActivation): void {
  const { engine } = activation;
  const { ids, process } = engine;
  services.set(state, { ids, process, clock: { now: () => engine.clock.now, sleep: sleepIn(activation) } });
}

/** Time and identity for one object. */
export function objectServicesOf(ctx: DurableObjectState): ObjectServices {
  const found = services.get(standIn<object>(ctx));
  if (found === undefined) throw new TypeError("This ctx was not made by the in-process host.");
  return found;
}

function sleepIn(activation: ObjectActivation): Clock["sleep"] {
  const { engine } = activation;
  return (ms, signal) =>
    new Promise((resolve, reject) => {
      if (!activation.isLive) return;
      if (signal?.aborted === true) return reject(signal.reason);
      const { process } = engine;
      engine.crash.awaited();
      if (!process.alive) return;
      const cancel = engine.schedule(engine.clock.now + ms, process, () => {
        signal?.removeEventListener("abort", abort);
        if (activation.isLive) resolve();
      });
      function abort() {
        cancel();
        if (activation.isLive) reject(signal?.reason);
      }
      signal?.addEventListener("abort", abort, { once: true });
    });
}
