import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Plugin, ViteDevServer } from "vite";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { think } from "../vite/plugin.ts";
import { thinkWorkerConfig } from "../vite/worker-config-hook.ts";
import { DevServerRecord, runningDevServer } from "./dev-server-record.ts";
import { shellVariables } from "./declared-variables.ts";

let root = "";
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "everthink-variables-"));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(root, { recursive: true, force: true });
});

const put = (name: string, text: string) => writeFileSync(join(root, name), text);

test("only declared names are taken from the shell, and what the project's own file has wins", () => {
  const shell = { OPENAI_API_KEY: "sk-1", MODEL: "m", EMPTY: "", AWS_SECRET: "no" };
  expect(shellVariables(root, shell)).toEqual({});
  put(".dev.vars.example", "# keys\nOPENAI_API_KEY=\nMODEL=\nEMPTY=\nUNSET=\n");
  expect(shellVariables(root, shell)).toEqual({ OPENAI_API_KEY: "sk-1", MODEL: "m" });
  put(".dev.vars", "MODEL=own\n");
  expect(shellVariables(root, shell)).toEqual({ OPENAI_API_KEY: "sk-1" });
});

test.each([
  ["serve", "sk-1"],
  ["build", undefined]
] as const)("the Worker of vite %s gets a declared key of the shell: %s", (command, expected) => {
  put(".dev.vars.example", "OPENAI_API_KEY=\n");
  vi.stubEnv("OPENAI_API_KEY", "sk-1");
  mkdirSync(join(root, "agents"));
  const plugin = think({ studio: false }).find(({ name }) => name === "everthink") as Plugin & {
    config: (...all: unknown[]) => void;
  };
  plugin.config({ root }, { command, mode: "test" });
  const config: { configPath: string; vars?: Record<string, string> } = { configPath: join(root, "wrangler.jsonc") };
  thinkWorkerConfig()(config);
  expect(config.vars?.["OPENAI_API_KEY"]).toBe(expected);
});

test("a development server is found by its project while it listens, and by no other user", async () => {
  const httpServer = createServer();
  const server = { httpServer, config: { server: {} } } as object as ViteDevServer;
  new DevServerRecord(root).follow(server);
  expect(runningDevServer(root)).toBeUndefined();
  httpServer.listen(0, "127.0.0.1");
  await once(httpServer, "listening");
  const { port } = httpServer.address() as { port: number };
  expect(runningDevServer(root)).toBe(`http://localhost:${port}`);
  expect(statSync(join(root, ".wrangler", "everthink-dev.json")).mode & 0o077).toBe(0);
  httpServer.close();
  await once(httpServer, "close");
  expect(runningDevServer(root)).toBeUndefined();
});

test("a server that was killed left its record, and is not found", () => {
  mkdirSync(join(root, ".wrangler"));
  // No process has this id: it is above every limit of an operating system.
  put(".wrangler/everthink-dev.json", JSON.stringify({ origin: "http://localhost:5173", pid: 2 ** 30 }));
  expect(runningDevServer(root)).toBeUndefined();
  put(".wrangler/everthink-dev.json", "{ broken");
  expect(runningDevServer(root)).toBeUndefined();
});
