// Code that keeps the engine busy stops the whole process: `everthink serve` starts another one, and that code is over.
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { bundleWorker } from "../../../tools/bundle-worker.ts";
import { ServedProject, WRANGLER } from "../served-project.ts";
import type { RunFacts } from "./coder-plan.ts";
import { countEffects } from "./effects.ts";

test("a process that is stuck in an isolate is started again; its run has failed and is not repeated", async () => {
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
  const served = project.serve(["--health-timeout", "1", "--allow-private-network"]);
  const name = `${effects.port}-frozen`;
  const agent = `/agents/coder/${name}`;
  await served.fetch(`${agent}/begin?question=freeze`);
  await served.says(/workerd did not answer for 1 s and was killed\.[\s\S]*workerd runs again/);
  // By the alarm alone, or with this: the conversation goes on with an outcome.
  let facts: RunFacts;
  do facts = (await served.json(`${agent}/facts`)) as RunFacts;
  while (!facts.isSaid);
  expect(facts.runs).toMatchObject([{ status: "error", error: expect.stringContaining("did not answer any more") }]);
  expect(effects.of(name, "once")).toHaveLength(1);
  expect(served.output.match(/did not answer for/g)).toHaveLength(1);
  served.child.kill("SIGINT");
  await served.ended;
});
