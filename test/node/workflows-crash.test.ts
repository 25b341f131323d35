// Whatever instruction the agent's process ends at, a workflow is started exactly once, and everything it reports is
// taken. The platform's side survives, as it does in life.
import { expect, test } from "vitest";
import { createTestHost, everyCrash, ProcessDied, type TestHost } from "../../src/testing/index.ts";
import { Importer, Library, type Command } from "../conformance/workflow-agents.ts";
import { WorkflowPlatform } from "./workflow-platform.ts";

const PLAN: Command[] = [
  ["progress", 1],
  ["merge", { count: 1 }],
  ["event", "half way"],
  ["set", { shelf: "full", count: 2 }],
  ["complete", "done"]
];
const platforms = new WeakMap<TestHost<unknown>, WorkflowPlatform>();

async function create(): Promise<TestHost<unknown>> {
  const platform = new WorkflowPlatform(Importer);
  const host = createTestHost({ agents: { Library }, env: { IMPORTER: platform.binding } }) as TestHost<unknown>;
  platform.host = host;
  platforms.set(host, platform);
  await host.get(Library, "l");
  return host;
}

function platformOf(host: TestHost<unknown>): WorkflowPlatform {
  const platform = platforms.get(host);
  if (!platform) throw new Error("This host was not made here");
  return platform;
}

/** Taken at least once: a crash between a hook and its mark repeats the hook. */
async function outcome(host: TestHost<unknown>, path: string[]) {
  const library = await host.get(Library, "l");
  const record = (await library.below(path, "tracked", "w")) as { status: string; isCreated: boolean; error: string };
  return {
    instances: [...platformOf(host).instances.values()].map(({ id, status, params }) => ({ id, status, params })),
    record: [record.status, record.isCreated, record.error],
    entries: [...new Set((await library.below(path, "entries")) as string[])],
    shelf: await library.below(path, "shelf")
  };
}

test.each([
  ["a root", []],
  ["a sub-agent", ["child"]]
])(
  "from %s: one workflow and one outcome, wherever the process dies, if the caller starts it again",
  async (_name, path) => {
    const start = async (host: TestHost<unknown>) =>
      (await host.get(Library, "l")).below(path, "start", PLAN, { id: "w", metadata: { for: "Ada" } });
    const { points } = await everyCrash({
      create,
      script: async (host) => {
        await start(host);
        await host.idle();
      },
      async finish(host) {
        await platformOf(host).resume();
        await start(host).catch((error: Error) => {
          if (!error.message.includes("already being tracked")) throw error;
        });
        await host.idle();
      },
      inspect: (host) => outcome(host, path)
    });
    expect(points).toBeGreaterThan(25);
  }
);

test("a workflow that has not reported yet is found by its id and not created twice", async () => {
  const start = async (host: TestHost<unknown>) =>
    (await host.get(Library, "l")).start([["wait", "never"]], { id: "w" });
  await everyCrash({
    create,
    script: start,
    finish: (host) =>
      start(host).catch((error: Error) => {
        if (!error.message.includes("already being tracked")) throw error;
      }),
    inspect: async (host) => {
      const record = await (await host.get(Library, "l")).tracked("w");
      return [platformOf(host).instances.size, record?.status, record?.isCreated, record?.error];
    }
  });
});

test("a start that was cut off shows in the record and is not repeated by itself", async () => {
  for (let write = 1; ; write++) {
    const host = await create();
    host.crashAfterWrite(write);
    const library = await host.get(Library, "l");
    await library.start([["wait", "never"]], { id: "w" }).catch((error: unknown) => {
      if (!(error instanceof ProcessDied)) throw error;
    });
    if (!host.crashed) break;
    await host.restart();
    const record = await (await host.get(Library, "l")).tracked("w");
    const isKnown = platformOf(host).instances.has("w");
    // Never a workflow without a record.
    if (isKnown) expect(record, `write ${write}`).toMatchObject({ status: "queued" });
    else expect(record?.isCreated ?? false, `write ${write}`).toBe(false);
  }
});
