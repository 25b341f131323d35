// `everthink serve --studio`: the real command, a real workerd, and a key that only the two of them have.
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { expect, test } from "vitest";
import { bundleWorker } from "../../tools/bundle-worker.ts";
import type { AgentView, StateView, TurnsView } from "../../src/features/inspection/index.ts";
import { ServedProject } from "./served-project.ts";

test("Studio of a served app looks inside its agents, and no other client can", async () => {
  const project = new ServedProject();
  project.installWorkerd();
  const entry = fileURLToPath(new URL("./fixtures/studio-worker.ts", import.meta.url));
  await bundleWorker({ entry, outputFile: join(project.folder, "worker.js") });
  const run = project.serve(["worker.js", "--objects", "Subject", "--studio"]);
  await run.url();
  await expect.poll(() => /Studio: (http:\S+)/.exec(run.output)?.[1], { timeout: 20_000 }).toBeDefined();
  const studio = /Studio: (http:\S+)/.exec(run.output)?.[1] ?? "";
  const look = async <View>(view: string) =>
    (await (await fetch(`${studio}__studio/agents/subject/a/inspect/v1/${view}`)).json()) as View;
  expect((await run.fetch("/agents/subject/a")).status).toBe(200);
  expect(await look<AgentView>("agent")).toMatchObject({ version: 1, className: "Subject", name: "a" });
  expect((await look<TurnsView>("turns")).turns).toMatchObject([{ status: "failed", question: "Hello?" }]);
  expect((await look<StateView>("state")).disk.bytes).toBeGreaterThan(4096);
  expect((await run.fetch("/agents/subject/a/inspect/v1/agent")).status).toBe(403);
  const config = (await (await fetch(`${studio}__studio/config.json`)).json()) as object;
  expect(config).toMatchObject({ agents: [{ id: "subject", label: "Subject" }], canWrite: false });
  const listed = await fetch(`${studio}__studio/instances.json?agent=subject`);
  expect(await listed.json()).toMatchObject({ instances: [{ name: "a" }], isCut: false });
  expect(await (await fetch(`${studio}__studio/instances.json?agent=none`)).json()).toEqual({});
  // A name of another site that leads to this machine.
  const rebound = await once(get(studio, { headers: { host: "evil.example" } }), "response");
  expect((rebound as [IncomingMessage])[0].statusCode).toBe(403);
});
