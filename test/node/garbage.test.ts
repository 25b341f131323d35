// A short run of what tools/crashes.ts plays with the script of every crash test: each stored value of two schedules is
// garbage after a death. What the other verdicts mean is in test/crashes/scene.ts.
import { expect, test, vi } from "vitest";
import { Agent } from "../../src/agent-class/index.ts";
import { quietly } from "../../src/testing/chaos/run.ts";
import { runUninterrupted } from "../../src/testing/every-crash.ts";
import { createTestHost } from "../../src/testing/index.ts";
import { playGarbage } from "../crashes/garbage.ts";
import type { Host, Scene } from "../crashes/scene.ts";

// Some hundred lives of an agent.
vi.setConfig({ testTimeout: 120_000 });

let ran: string[] = [];

class Baker extends Agent {
  async order(): Promise<void> {
    for (const bread of ["rye", "oat"]) await this.schedule(60, "bake", bread);
  }

  bake(bread: string): void {
    ran.push(bread);
  }
}

const scene: Scene = {
  create: async () => {
    ran = [];
    const host = createTestHost({ agents: { Baker } });
    await host.get(Baker, "a");
    return host as object as Host;
  },
  script: async (host) => (await host.get(Baker, "a")).order(),
  finish: (host) => host.advance(3_600_000),
  inspect: () => ran.toSorted()
};

/** A name that is garbage is a name: whose item it is, or its place, cannot be told from it. */
const NAMES = /cf_work\.(kind|key|lane|id|payload) /;

test("garbage in schedules is reported or costs nothing: no object is kept awake, no time or count is taken for another", async () => {
  const played = await quietly(async () => playGarbage(scene, await runUninterrupted(scene), 0, 250));
  expect(played.length).toBeGreaterThan(50);
  const wrong = played.filter(
    ({ verdict, detail = "" }) => verdict !== "same" && verdict !== "reported" && !NAMES.test(detail)
  );
  expect(wrong).toEqual([]);
  expect(played.some(({ verdict }) => verdict === "reported")).toBe(true);
});
