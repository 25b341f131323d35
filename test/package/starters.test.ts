// Every starter, made by `everthink init` of the packed package: it type checks, passes its test, builds, and answers. The
// tarball is unpacked beside the repository's packages, so that nothing is downloaded; `npm run test:starters` does for all
// of them what CI does for one: `everthink serve`, `wrangler dev` and `npm run chaos`.
import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ServeRun } from "../process/served-project.ts";
import { PackedProject, repository } from "./packed-project.ts";

const STARTERS = readdirSync(join(repository, "starters")).filter((name) => name !== "shared");
const isWhole = process.env["EVERTHINK_STARTERS"] === "all";
/** The one that CI follows to the end: its conversation has an action, and one that waits for a person. */
const FOLLOWED = "business-workflow";
const QUESTION = { [FOLLOWED]: "Pay 40 to Ada" } as Readonly<Record<string, string>>;

let packed: PackedProject;
let command = "";
const runs: ServeRun[] = [];

beforeAll(() => {
  packed = new PackedProject();
  command = join(packed.link(), "dist", "serve", "cli.js");
});
afterAll(async () => {
  for (const { child } of runs) child.kill("SIGTERM");
  await Promise.all(runs.map(({ ended }) => ended));
  await packed?.remove();
});

const inherited = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(VITEST|NODE_ENV$|TEST$)/.test(name))
);
const env = { ...inherited, NO_COLOR: "1", CLOUDFLARE_CF_FETCH_ENABLED: "false", WRANGLER_SEND_METRICS: "false" };

/** A program of node_modules in a starter's folder; answers what it printed. */
function run(
  folder: string,
  program: string,
  args: readonly string[] = []
): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [program, ...args], { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
  const started = new ServeRun(child);
  runs.push(started);
  return started.ended.then((code) => ({ code, output: started.output }));
}

function start(folder: string, program: string, args: readonly string[]): ServeRun {
  const child = spawn(process.execPath, [program, ...args], { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
  const started = new ServeRun(child);
  runs.push(started);
  return started;
}

const bin = (path: string) => join(packed.directory, "node_modules", path);

async function answers(folder: string, url: string, question: string): Promise<string> {
  const { host } = new URL(url);
  const { code, output } = await run(folder, command, ["chat", "assistant", "--host", host, "--message", question]);
  expect({ code, output }).toMatchObject({ code: 0 });
  return output;
}

describe.each(STARTERS)("the starter %s", (name) => {
  test("is made, type checks, passes its test and builds", async () => {
    const folder = join(packed.directory, name);
    const made = await run(packed.directory, command, ["init", name, "--template", name, "--no-install", "--yes"]);
    expect(made).toMatchObject({ code: 0 });
    const [types, tests, build] = await Promise.all([
      run(folder, bin("typescript/bin/tsc")),
      run(folder, bin("vitest/vitest.mjs"), ["run"]),
      run(folder, bin("vite/bin/vite.js"), ["build"])
    ]);
    expect(types).toEqual({ code: 0, output: "" });
    expect(tests).toMatchObject({ code: 0 });
    expect(build).toMatchObject({ code: 0 });
    expect(build.output).not.toMatch(/warn/i);
  });

  test.runIf(isWhole || name === FOLLOWED)("answers a turn on everthink serve", async () => {
    const folder = join(packed.directory, name);
    const served = start(folder, command, ["serve", "--port", "0"]);
    const question = QUESTION[name] ?? "Hello";
    const output = await answers(folder, await served.url(), question);
    if (name !== FOLLOWED) return;
    expect(output).toContain('┌ pay {"amount":40,"payee":"Ada"}');
    const { host } = new URL(await served.url());
    const at = ["--host", host];
    const parked = await run(folder, command, ["chat", "assistant", ...at, "--message", "Pay 400 to Grace"]);
    expect(parked.code).toBe(2);
    const [, id = ""] = /everthink approve assistant --instance default (\S+)/.exec(parked.output) ?? [];
    expect(await run(folder, command, ["approve", "assistant", ...at])).toMatchObject({
      output: expect.stringContaining(id)
    });
    expect(await run(folder, command, ["approve", "assistant", id, ...at])).toMatchObject({ code: 0 });
    const state = await run(folder, command, ["state", "assistant", "default", "--json", ...at]);
    expect((JSON.parse(state.output) as { messages: unknown[] }).messages).toHaveLength(4);
    expect((await run(folder, command, ["approve", "assistant", "unknown", ...at])).code).toBe(1);
    expect((await run(folder, command, ["state", "stranger", ...at])).code).toBe(1);
    served.child.kill("SIGTERM");
    await served.ended;
  });

  test.runIf(isWhole)("answers a turn in wrangler dev, and survives npm run chaos", { timeout: 300_000 }, async () => {
    const folder = join(packed.directory, name);
    const port = String(20_000 + Math.floor(Math.random() * 20_000));
    const server = start(folder, bin("wrangler/bin/wrangler.js"), ["dev", "--port", port]);
    await server.says(/Ready on http/);
    await answers(folder, `http://localhost:${port}`, QUESTION[name] ?? "Hello");
    server.child.kill("SIGTERM");
    await server.ended;
    expect(await run(folder, command, ["chaos", "--points", "10"])).toMatchObject({ code: 0 });
  });
});
