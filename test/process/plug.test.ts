// `everthink serve --plug`, the real command and a real death of workerd.
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { isAlive, ServedProject, type ServeRun } from "./served-project.ts";

const PATIENCE = { timeout: 20_000, interval: 20 };
const PLUG = "/__think/plug";
const PULLS = 15;

/** Counts in an object; /begin counts, says so, and then takes longer than any test. */
const WORKER = `
import { DurableObject } from "cloudflare:workers";
export class Counter extends DurableObject {
  async fetch(request) {
    const { pathname } = new URL(request.url);
    if (pathname === "/count") return Response.json(this.ctx.storage.kv.get("count") ?? 0);
    const count = (this.ctx.storage.kv.get("count") ?? 0) + 1;
    this.ctx.storage.kv.put("count", count);
    if (pathname === "/add") return Response.json(count);
    const { readable, writable } = new IdentityTransformStream();
    const writer = writable.getWriter();
    this.ctx.waitUntil(writer.write(new TextEncoder().encode("begun")).then(() => scheduler.wait(600_000)));
    return new Response(readable);
  }
}
export default {
  fetch(request, env) {
    const { pathname } = new URL(request.url);
    if (pathname === "${PLUG}") return new Response("mine: " + request.method);
    return env.Counter.getByName("one").fetch(request);
  }
};`;

let project: ServedProject;
beforeAll(() => {
  project = new ServedProject();
  project.installWorkerd();
  project.put({ "worker.js": WORKER });
});

function serve(args: readonly string[]): ServeRun {
  return project.serve(["worker.js", "--objects", "Counter", ...args]);
}

/** As a page of this server would. */
async function pull(run: ServeRun): Promise<void> {
  const [pid] = run.workerds();
  const origin = await run.url();
  expect((await run.fetch(PLUG, { method: "POST", headers: { origin } })).status).toBe(202);
  await expect.poll(() => isAlive(pid!), PATIENCE).toBe(false);
}

async function isBack(run: ServeRun): Promise<void> {
  const answers = () =>
    run.fetch("/__think/health").then(
      ({ status }) => status,
      () => 0
    );
  await expect.poll(answers, PATIENCE).toBe(200);
}

async function stop(run: ServeRun): Promise<number | null> {
  run.child.kill("SIGTERM");
  return run.ended;
}

describe("everthink serve --plug", () => {
  test("kills workerd in the middle of a request; it is back at once, with what was stored", async () => {
    const run = serve(["--data", "data-plug", "--plug"]);
    expect(await run.json(PLUG)).toEqual({ plug: true });
    const reader = (await run.fetch("/begin")).body!.getReader();
    expect(new TextDecoder().decode((await reader.read()).value)).toBe("begun");
    await pull(run);
    await expect(reader.read()).rejects.toThrow();
    await isBack(run);
    expect(await run.json("/count")).toBe(1);
    expect(run.output).toContain("everthink The plug was pulled: workerd was killed.\n");
    expect(await stop(run)).toBe(0);
  });

  test("may be pulled as often as one likes", async () => {
    const run = serve(["--data", "data-often", "--plug"]);
    for (let times = 1; times <= PULLS; times += 1) {
      await isBack(run);
      expect(await run.json("/add")).toBe(times);
      await pull(run);
    }
    await isBack(run);
    expect(await run.json("/count")).toBe(PULLS);
    expect(run.output.match(/The plug was pulled/g)).toHaveLength(PULLS);
    expect(run.output).not.toMatch(/Starting it again in|workerd ended/);
    expect(await stop(run)).toBe(0);
  });

  test("is out of reach for pages of other sites, and leaves nothing behind", async () => {
    const run = serve(["--data", "data-strangers", "--plug"]);
    await run.url();
    const [pid] = run.workerds();
    for (const origin of [undefined, "https://example.com", "null"]) {
      const headers = { ...(origin !== undefined && { origin }) };
      expect((await run.fetch(PLUG, { method: "POST", headers })).status).toBe(403);
    }
    expect((await run.fetch(PLUG, { method: "PUT" })).status).toBe(405);
    expect(run.workerds()).toEqual([pid]);
    const config = readFileSync(join(project.folder, "data-strangers/.everthink/run/config.capnp"), "utf8");
    const socket = /unix:([^"]+)/.exec(config)?.[1] ?? "";
    expect(existsSync(socket)).toBe(true);
    expect(await stop(run)).toBe(0);
    expect(existsSync(dirname(socket))).toBe(false);
  });

  test("leaves no socket behind when the command is killed", async () => {
    const run = serve(["--data", "data-killed", "--plug"]);
    await run.url();
    const config = readFileSync(join(project.folder, "data-killed/.everthink/run/config.capnp"), "utf8");
    const folder = dirname(/unix:([^"]+)/.exec(config)?.[1] ?? "");
    expect(existsSync(folder)).toBe(true);
    run.child.kill("SIGKILL");
    await expect.poll(() => existsSync(folder), PATIENCE).toBe(false);
  });

  test("is not there unless it was asked for: the Worker answers", async () => {
    const run = serve(["--data", "data-without"]);
    expect(await (await run.fetch(PLUG)).text()).toBe("mine: GET");
    const asked = await run.fetch(PLUG, { method: "POST", headers: { origin: await run.url() } });
    expect(await asked.text()).toBe("mine: POST");
    expect(await stop(run)).toBe(0);
  });

  test("is refused where others could reach it", async () => {
    const run = serve(["--plug", "--host", "0.0.0.0"]);
    expect(await run.ended).toBe(1);
    expect(run.output).toBe(
      "--plug is for this machine only, so --host must be 127.0.0.1 or localhost or ::1.\nSee: everthink serve --help\n"
    );
  });
});
