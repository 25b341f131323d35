// What the tests of fiber recovery start from: fibers that a crash left behind.
import type { Methods, TestAgent, World } from "../../testing/agent-core.test-support.ts";
import type { AgentStaticOptions } from "../../agent/options.ts";

export const never = () => new Promise<never>(() => undefined);

/** Leaves one fiber behind, interrupted by a crash, and the methods the next process will have. */
export async function leaveInterrupted(
  world: World,
  setup: {
    methods: Methods;
    managed?: boolean;
    options?: AgentStaticOptions;
    prepare?: (agent: TestAgent) => void;
    count?: number;
  }
): Promise<void> {
  const { fibers } = world.boot({ methods: setup.methods, ...(setup.options ? { options: setup.options } : {}) });
  for (let i = 0; i < (setup.count ?? 1); i++) {
    if (setup.managed) {
      await fibers.start("job", ({ stash }) => (stash({ step: i }), never()), {
        fiberId: `f${i}`,
        idempotencyKey: `k${i}`,
        metadata: { i }
      });
    } else void fibers.run("job", ({ stash }) => (stash({ step: i }), never())).catch(() => undefined);
  }
  await world.settle();
  world.crash();
  world.events.length = 0;
  if (setup.prepare) {
    world.boot({
      methods: setup.methods,
      prepare: setup.prepare,
      ...(setup.options ? { options: setup.options } : {})
    });
  }
}
