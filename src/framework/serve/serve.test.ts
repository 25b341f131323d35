// What `serve` gives to the parts that have tests of their own: the supervisor and the configuration of workerd.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Log } from "./log.ts";
import { serve } from "./serve.ts";
import { supervise, type SupervisorPorts } from "./supervisor.ts";

vi.mock("./supervisor.ts", async (original) => ({ ...(await original<object>()), supervise: vi.fn(async () => {}) }));
vi.mock("./workerd-binary.ts", () => ({ findWorkerd: () => "/bin/false" }));

let place = "";
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), "everthink-serve-"));
  // It is for the whole process, and this one runs other tests too.
  vi.spyOn(process, "umask").mockReturnValue(0);
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(place, { recursive: true, force: true });
});

async function served(more: object): Promise<{ config: string; ports: SupervisorPorts | undefined }> {
  const config = { name: "app", main: "index.js", compatibility_date: "2026-09-18", ...more };
  mkdirSync(join(place, "dist/app"), { recursive: true });
  writeFileSync(join(place, "dist/app/wrangler.json"), JSON.stringify(config));
  writeFileSync(join(place, "dist/app/index.js"), "");
  writeFileSync(join(place, "front.js"), "");
  const silent = { write: () => true };
  await serve(
    {
      build: "dist/app",
      objects: [],
      host: "127.0.0.1",
      port: 0,
      data: "data",
      variables: [],
      allowsPrivateNetwork: false,
      hasPlug: false,
      healthTimeoutMs: 1_000,
      bodySilenceMs: 1_000,
      graceMs: 1_000
    },
    {
      workingFolder: place,
      variables: {},
      frontWorker: join(place, "front.js"),
      studioFolder: place,
      log: new Log({ output: silent, errors: silent, now: () => new Date(0), withTime: false }),
      signals: { stop: new AbortController().signal, hurry: new AbortController().signal }
    }
  );
  const written = readFileSync(join(place, "data/.everthink/run/config.capnp"), "utf8");
  return { config: written, ports: vi.mocked(supervise).mock.lastCall?.[0] };
}

test("a Worker that can load code is told until when untrusted code had stopped the process; others have no such variable", async () => {
  const loads = await served({ worker_loaders: [{ binding: "LOADER" }] });
  expect(loads.config).toContain("EVERTHINK_FROZEN_UNTIL");
  expect((await served({})).config).not.toContain("EVERTHINK_FROZEN_UNTIL");
});

test("the last death is kept in the data folder, for the next server and for its user only", async () => {
  const { ports } = await served({});
  expect(ports?.lastDeath?.()).toBeUndefined();
  ports?.keepDeath?.(1_000);
  ports?.keepDeath?.(2_000);
  expect((await served({})).ports?.lastDeath?.()).toBe(2_000);
  expect(statSync(join(place, "data/.everthink/last-death")).mode & 0o777).toBe(0o600);
});

test.each([
  ["a part of what was written", '{"at', undefined],
  ["another value", '{"atMs":"soon"}', undefined],
  ["a time that has not come, by a clock that was wrong", `{"atMs":${Number.MAX_SAFE_INTEGER}}`, "now"]
])("a file of the last death with %s stops nothing", async (_what, text, known) => {
  mkdirSync(join(place, "data/.everthink"), { recursive: true });
  writeFileSync(join(place, "data/.everthink/last-death"), text);
  vi.spyOn(Date, "now").mockReturnValue(5_000);
  const { ports } = await served({});
  expect(ports?.lastDeath?.()).toBe(known === "now" ? 5_000 : undefined);
});

test("a full disk does not keep the supervisor from starting workerd again", async () => {
  const { ports } = await served({});
  rmSync(join(place, "data"), { recursive: true });
  expect(() => ports?.keepDeath?.(1_000)).not.toThrow();
});

test.runIf(process.platform === "linux")(
  "the supervisor can tell a death by missing memory: it reads what the system counts",
  async () => {
    const { ports } = await served({});
    expect(ports?.memoryKills?.()).toEqual(expect.any(Number));
  }
);
