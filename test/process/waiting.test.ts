// What waits over all agents of a served app, found in the files of real objects and their facets: no idle agent is started,
// and only a client with the key is answered.
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { bundleWorker } from "../../tools/bundle-worker.ts";
import type { ProjectInboxView } from "../../src/framework/studio/project-inbox.ts";
import { ServedProject, type ServeRun } from "./served-project.ts";

const IDLE = 20;
let project: ServedProject;
let run: ServeRun;
let studio: string;

beforeAll(async () => {
  project = new ServedProject();
  project.installWorkerd();
  const entry = fileURLToPath(new URL("./fixtures/waiting-worker.ts", import.meta.url));
  await bundleWorker({ entry, outputFile: join(project.folder, "worker.js") });
  run = await serve();
  const ask = async (path: string) => expect((await run.fetch(`/agents/teller/${path}`)).status).toBe(200);
  for (let index = 0; index < IDLE; index += 1) await ask(`idle-${index}?use=nothing`);
  await ask("user%2F42?use=pay");
  await ask("main?use=ship");
  await ask("main?use=pay&below=a%20b");
});

async function serve(): Promise<ServeRun> {
  const started = project.serve(["worker.js", "--objects", "Teller", "--studio-write"]);
  await started.url();
  studio = (await started.says(/Studio: (http:\S+)/))[1] ?? "";
  return started;
}

const PAGE = { "x-everthink-studio": "1" };

async function waiting(): Promise<ProjectInboxView> {
  return (await (await fetch(`${studio}__studio/waiting.json`, { headers: PAGE })).json()) as ProjectInboxView;
}

async function asked(): Promise<(string | undefined)[][]> {
  return (await waiting()).agents.map(({ at, approvals }) => [at, ...approvals.map(({ name }) => name)]);
}

const ALL = [
  ["teller/user%2F42", "pay"],
  ["teller/main", "ship"],
  ["teller/main/sub/clerk/a%20b", "pay"]
];

test("agents and sub-agents that wait are listed with their questions, oldest first", async () => {
  expect(await asked()).toEqual(ALL);
  const { agents, more, unread } = await waiting();
  expect([more, unread]).toEqual([0, 0]);
  expect(agents[0]?.approvals[0]).toMatchObject({
    risk: "high",
    kind: "action",
    isDecidable: true,
    input: { isCut: false }
  });
  const times = agents.map(({ approvals }) => approvals[0]?.askedAt ?? 0);
  expect(times).toEqual(times.toSorted());
  expect(Date.now() - (times[0] ?? 0)).toBeLessThan(120_000);
});

test("after a SIGKILL of the server the list starts those that wait, and none of the idle ones", async () => {
  const [workerd = 0] = run.children("workerd");
  process.kill(workerd, "SIGKILL");
  run.child.kill("SIGKILL");
  await run.ended;
  run = await serve();
  expect(await asked()).toEqual(ALL);
  await expect.poll(() => [...run.output.matchAll(/started (\S+)/g)].length).toBeGreaterThan(0);
  const started = new Set([...run.output.matchAll(/started (\S+)/g)].map(([, name]) => name));
  expect([...started].filter((name) => name?.startsWith("idle"))).toEqual([]);
});

test("a stranger gets none of it", async () => {
  // Another site's page cannot send the header; a name of another site that leads to this machine does not help it.
  expect((await fetch(`${studio}__studio/waiting.json`)).status).toBe(403);
  expect((await fetch(`${studio}__studio/waiting.json`, { method: "POST", headers: PAGE })).status).toBe(405);
  for (const path of ["inbox", "inbox/x"]) {
    expect((await run.fetch(`/agents/teller/main/inspect/v1/${path}`)).status).toBe(403);
    expect((await run.fetch(`/agents/teller/main/sub/clerk/a%20b/inspect/v1/${path}`)).status).toBe(403);
  }
});

/** `everthink approve --all`, of agents that are named because this app is no development server's. */
async function approveAll(...args: string[]): Promise<{ code: number | null; output: string }> {
  const at = ALL.flatMap(([address = ""]) => ["--at", address]);
  const command = project.everthink(["approve", "--all", ...args, "--url", await run.url(), ...at]);
  const code = await command.ended;
  return { code, output: command.output };
}

test("the terminal lists what waits over all agents, sub-agents included, and decides one of them by its id", async () => {
  const { output } = await approveAll("--json");
  const listed = JSON.parse(output) as { at: string; id: string; action: string; input: unknown }[];
  expect(listed.map(({ at, action, input }) => [at, action, input])).toEqual(
    ALL.map(([at, action]) => [at, action, { euros: 5 }])
  );
  const { id = "" } = listed[0] ?? {};
  expect(await approveAll("actpause_unknown")).toMatchObject({ code: 1 });
  expect(await approveAll(id)).toMatchObject({ code: 0, output: expect.stringContaining(`${id} approved`) as string });
  expect((await approveAll()).output.trim().split("\n")).toHaveLength(2);
  expect(await asked()).toEqual(ALL.slice(1));
});

test("what is decided is not listed any more, and a second decision says so", async () => {
  const { agents } = await waiting();
  const [{ at, approvals } = { at: "", approvals: [] }] = agents.slice(-1);
  const [entry] = approvals;
  const body = { id: entry?.id, decision: "approve", inputHash: entry?.inputHash };
  const decide = (decision: object) =>
    fetch(`${studio}__studio/agents/${at}/inspect/v1/decide`, {
      method: "POST",
      headers: { ...PAGE, "content-type": "application/json" },
      body: JSON.stringify(decision)
    });
  // Of another input nothing is decided.
  expect((await decide({ ...body, inputHash: "another" })).status).toBe(409);
  expect((await decide(body)).status).toBe(200);
  expect(await asked()).toEqual(ALL.slice(1, 2));
  expect((await decide({ ...body, decision: "reject" })).status).toBe(409);
});
