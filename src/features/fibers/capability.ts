// Fibers as a capability of every agent: their part in its life. What they do is in `fibers.ts`.
import { runtimeOf } from "../../agent/runtime.ts";
import { capability } from "../../feature/capability.ts";
import type { Feature } from "../../feature/feature.ts";
import { FIBER_TABLES } from "./fiber-table.ts";
import { Fibers } from "./fibers.ts";
import { FiberMembers } from "./members.ts";

export interface FibersFeature extends Feature {
  readonly all: Fibers;
}

export const fibers = capability({
  name: "fibers",
  opensWithAgent: true,
  members: FiberMembers,
  feature: (services): FibersFeature => {
    const runtime = runtimeOf(services.agent);
    const all = new Fibers(runtime, runtime.keepAlive);
    // The agent is up, and can start fibers, also when those of an earlier process cannot be read.
    const failed = (error: unknown) => services.degrade("fiber-recovery", error);
    const claim = (): boolean => {
      try {
        return all.claim();
      } catch (error) {
        failed(error);
        return false;
      }
    };
    return {
      name: "fibers",
      all,
      tables: FIBER_TABLES,
      start: () => void claim(),
      roles: {
        recovery: () => (claim() ? runtime.keepAlive.while(() => all.recover()).catch(failed) : undefined)
      },
      runDue: () => all.recover(),
      stop: () => all.stop()
    };
  }
});

/** The fibers of an agent. */
export function fibersOf(agent: object): Fibers {
  return fibers.of(agent).all;
}
