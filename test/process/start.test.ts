import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, statSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import WebSocket from "ws";
import { removeFolder } from "../../tools/remove-folder.ts";

const script = fileURLToPath(new URL("../../tools/start.ts", import.meta.url));
const dataDirectory = mkdtempSync(join(tmpdir(), "everthink-start-"));
const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});
afterAll(() => removeFolder(dataDirectory));

interface Start {
  child: ChildProcess;
  /** Resolves with everything printed when the process ends. */
  ended: Promise<{ code: number | null; output: string }>;
  /** The address it printed. */
  url: Promise<string>;
}

function start(port: string, options: readonly string[] = []): Start {
  const environment = { ...process.env, PORT: port, DATA_DIRECTORY: dataDirectory };
  const child = spawn(process.execPath, [script, ...options], { env: environment, stdio: ["ignore", "pipe", "pipe"] });
  children.push(child);
  let output = "";
  const url = new Promise<string>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
        const address = /http:\/\/[\d.:]+/.exec(output);
        if (address) resolve(address[0]);
      });
    }
  });
  const ended = once(child, "close").then(([code]) => ({ code: code as number | null, output }));
  return { child, ended, url };
}

async function call(url: string, method: string, args: unknown[]): Promise<unknown> {
  const socket = new WebSocket(`${url.replace("http", "ws")}/agents/directory/main`);
  return new Promise((resolve, reject) => {
    socket.once("error", reject);
    socket.once("open", () => socket.send(JSON.stringify({ type: "rpc", id: "1", method, args })));
    socket.on("message", (data) => {
      const frame = JSON.parse(String(data)) as Record<string, unknown>;
      if (frame.type !== "rpc") return;
      socket.close();
      resolve(frame.success ? frame.result : frame.error);
    });
  });
}

/** The titles of the conversations that a page receives when it connects. */
async function titles(url: string): Promise<string[]> {
  const socket = new WebSocket(`${url.replace("http", "ws")}/agents/directory/main`);
  return new Promise((resolve, reject) => {
    socket.once("error", reject);
    socket.on("message", (data) => {
      const frame = JSON.parse(String(data)) as { type: string; state?: { conversations: { title: string }[] } };
      if (frame.type !== "cf_agent_state" || !frame.state) return;
      socket.close();
      resolve(frame.state.conversations.map(({ title }) => title));
    });
  });
}

describe("npm start", () => {
  test("serves the page, the agents and the plug, and what they know survives a restart", async () => {
    const first = start("0");
    const url = await first.url;
    expect(await (await fetch(url)).text()).toContain("Assistant · everthink");
    expect(await (await fetch(`${url}/__think/plug`)).json()).toEqual({ plug: true });
    const { id } = (await call(url, "create", [])) as { id: string };
    await call(url, "rename", [id, "Lamp oil"]);
    first.child.kill("SIGTERM");
    expect((await first.ended).code).toBe(0);

    const second = start("0");
    expect(await titles(await second.url)).toEqual(["Lamp oil"]);
    second.child.kill("SIGINT");
    expect((await second.ended).code).toBe(0);
  });

  test("keeps the plug away from a page that others can open", async () => {
    const run = start("0", ["--host", "0.0.0.0"]);
    const { port } = new URL(await run.url);
    expect((await fetch(`http://127.0.0.1:${port}/__think/plug`)).headers.get("content-type")).not.toContain("json");
  });

  test("says plainly that a port is taken, and exits with 1", async () => {
    const { port } = new URL(await start("0").url);
    const { code, output } = await start(port).ended;
    const other = (Number(port) % 65_535) + 1;
    expect(output).toBe(`Port ${port} is already in use.\nChoose another one: npm start -- --port ${other}\n`);
    expect(code).toBe(1);
  });

  test("looks at the port of its options before it builds anything", async () => {
    const { port } = new URL(await start("0").url);
    const built = join(import.meta.dirname, "../../dist/serve/front-worker.js");
    const source = join(import.meta.dirname, "../../tsdown.config.ts");
    const { atime, mtime } = statSync(built);
    // Older than its sources: the next start would build the package.
    utimesSync(built, atime, new Date(statSync(source).mtimeMs - 1_000));
    try {
      const { code, output } = await start("0", ["--port", port]).ended;
      expect([code, output.split("\n")[0]]).toEqual([1, `Port ${port} is already in use.`]);
    } finally {
      utimesSync(built, atime, mtime);
    }
  });

  test("refuses a port that is none", async () => {
    const { code, output } = await start("eighty").ended;
    expect([code, output]).toEqual([1, 'PORT must be a number from 0 to 65535, not "eighty".\n']);
  });
});
