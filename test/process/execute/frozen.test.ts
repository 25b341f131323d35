// Code that keeps the engine busy stops the whole process: `everthink serve` starts another one, and that code is over.
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { bundleWorker } from "../../../tools/bundle-worker.ts";
import { ServedProject, WRANGLER } from "../served-project.ts";
import type { RunState } from "./coder-plan.ts";
import { countEffects } from "../effects.ts";

/** A served project whose agent runs code, and what counts the effects of that code. */
async function served(...options: string[]) {
  const effects = await countEffects();
  const project = new ServedProject();
  const entry = fileURLToPath(new URL("./coder-worker.ts", import.meta.url));
  await bundleWorker({ entry, outputFile: join(project.folder, "dist", "app", "index.js") });
  const { assets: _assets, ...config } = WRANGLER;
  const wrangler = {
    ...config,
    durable_objects: { bindings: [{ name: "Coder", class_name: "Coder" }] },
    migrations: [{ tag: "v1", new_sqlite_classes: ["Coder"] }]
  };
  project.put({ "dist/app/wrangler.json": JSON.stringify(wrangler) });
  project.installWorkerd();
  const start = () => project.serve([...options, "--allow-private-network"]);
  return { effects, server: start(), start };
}

/** By the alarm alone, or with this: the conversation goes on with an outcome. */
async function settled(server: Awaited<ReturnType<typeof served>>["server"], agent: string): Promise<RunState> {
  let state: RunState;
  do state = (await server.json(`${agent}/state`)) as RunState;
  while (!state.isSaid);
  return state;
}

test("a process that is stuck in an isolate is started again; its run has failed and is not repeated", async () => {
  const { effects, server } = await served("--health-timeout", "1");
  const name = `${effects.port}-frozen`;
  const agent = `/agents/coder/${name}`;
  await server.fetch(`${agent}/begin?question=freeze`);
  await server.says(/workerd did not answer for 1 s and was killed\.[\s\S]*workerd runs again/);
  const state = await settled(server, agent);
  expect(state.runs).toMatchObject([{ status: "error", error: expect.stringContaining("did not answer any more") }]);
  expect(effects.of(name, "once")).toHaveLength(1);
  expect(server.output.match(/did not answer for/g)).toHaveLength(1);
  server.child.kill("SIGINT");
  await server.ended;
});

test("a server that ended right after its process was stuck leaves word for the next one: the code is not repeated", async () => {
  const { effects, server, start } = await served("--health-timeout", "1");
  const name = `${effects.port}-orphan`;
  await server.fetch(`/agents/coder/${name}/begin?question=freeze`);
  await server.says(/workerd did not answer for 1 s and was killed/);
  server.child.kill("SIGKILL");
  await server.ended;
  const next = start();
  const facts = await settled(next, `/agents/coder/${name}`);
  expect(facts.runs).toMatchObject([{ status: "error", error: expect.stringContaining("did not answer any more") }]);
  expect(effects.of(name, "once")).toHaveLength(1);
  expect(next.output).not.toContain("did not answer for");
  next.child.kill("SIGINT");
  await next.ended;
});

test("code that takes all memory ends the process once: its run has failed and is not repeated", async () => {
  const { effects, server } = await served();
  const name = `${effects.port}-bomb`;
  const agent = `/agents/coder/${name}`;
  await server.fetch(`${agent}/begin?question=bomb`);
  await server.says(/workerd ended: [\s\S]*workerd runs again/);
  const state = await settled(server, agent);
  expect(state.runs).toMatchObject([{ status: "error", error: expect.stringContaining("crashed") }]);
  expect(effects.of(name, "once")).toHaveLength(1);
  expect(server.output.match(/workerd ended/g)).toHaveLength(1);
  server.child.kill("SIGINT");
  await server.ended;
});
