// Whatever instruction the process ends at, no queued item is lost and none that finished runs again.
import { describe, expect, test } from "vitest";
import { SimulatedCrash, World } from "../../testing/agent-core.test-support.ts";

interface Script {
  world: World;
  finished: string[];
  accepted: string[];
  zombies: string[];
}

function open(): Script {
  const world = new World();
  const script: Script = { world, finished: [], accepted: [], zombies: [] };
  const work = async (payload: unknown, item: unknown) => {
    const { id } = item as { id: string };
    const name = payload as string;
    if (world.rows("SELECT 1 FROM cf_work WHERE key = ? AND claimed_at IS NOT NULL", id).length === 0)
      script.zombies.push(name);
    await world.agent?.clock.sleep(100);
    if (name.endsWith("bad")) throw new Error("boom");
    script.finished.push(name);
  };
  world.boot({ methods: { left: work, right: work } });
  return script;
}

async function play(script: Script): Promise<void> {
  const add = async (callback: string, name: string) => {
    try {
      await (script.world.agent ?? script.world.boot()).queue.enqueue(callback, name);
      script.accepted.push(name);
    } catch (error) {
      // Not accepted: the caller got no answer, so nothing is promised.
      if (!(error instanceof SimulatedCrash)) throw error;
    }
  };
  for (const name of ["left 1", "left bad", "left 2"]) await add("left", name);
  for (const name of ["right 1", "right 2"]) await add("right", name);
  await script.world.advance(20_000);
}

describe("crash after every write", () => {
  test("every accepted item runs or is a dead letter, in order, and nothing runs after its row was deleted", async () => {
    const whole = open();
    await play(whole);
    expect(whole.finished).toHaveLength(4);
    for (let n = 1; n <= whole.world.writes; n++) {
      const script = open();
      script.world.crashAtWrite(n);
      await play(script);
      script.world.noCrash();
      await script.world.advance(120_000);
      const label = `crash at write ${n}`;
      const dead = script.world.rows("SELECT payload FROM cf_work WHERE settled_at IS NOT NULL");
      const pending = script.world.rows("SELECT payload FROM cf_work WHERE settled_at IS NULL");
      expect(pending, label).toEqual([]);
      expect(script.zombies, label).toEqual([]);
      for (const name of script.accepted) {
        const runs = script.finished.filter((other) => other === name).length;
        if (name.endsWith("bad")) expect(dead, label).toEqual([{ payload: JSON.stringify({ payload: name }) }]);
        else expect([1, 2], `${name}, ${label}`).toContain(runs);
      }
      const firsts = [...new Set(script.finished)].filter((name) => name.startsWith("left"));
      expect(firsts, label).toEqual([...firsts].sort());
      expect(script.world.alarmAt, label).toBeNull();
    }
  });
});
