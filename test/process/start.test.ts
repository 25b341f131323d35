import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import WebSocket from "ws";

const script = fileURLToPath(new URL("../../tools/start.ts", import.meta.url));
const dataDirectory = mkdtempSync(join(tmpdir(), "everthink-start-"));
const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});
afterAll(() => rmSync(dataDirectory, { recursive: true, force: true }));

interface Start {
  child: ChildProcess;
  /** Resolves with everything printed when the process ends. */
  ended: Promise<{ code: number | null; output: string }>;
  /** The address it printed. */
  url: Promise<string>;
}

function start(port: string): Start {
  const environment = { ...process.env, PORT: port, DATA_DIRECTORY: dataDirectory };
  const child = spawn(process.execPath, [script], { env: environment, stdio: ["ignore", "pipe", "pipe"] });
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

async function call(url: string, method: string, args: unknown[]): Promise<unknown[]> {
  const socket = new WebSocket(`${url.replace("http", "ws")}/agents/hello/test`);
  const results: unknown[] = [];
  return new Promise((resolve, reject) => {
    socket.once("error", reject);
    socket.once("open", () => socket.send(JSON.stringify({ type: "rpc", id: "1", method, args })));
    socket.on("message", (data) => {
      const frame = JSON.parse(String(data)) as Record<string, unknown>;
      if (frame.type !== "rpc") return;
      results.push(frame.success ? frame.result : frame.error);
      if (frame.success && frame.done === false) return;
      socket.close();
      resolve(results);
    });
  });
}

/** Resolves with the notes of the first state that has any. */
async function reminders(url: string): Promise<string[]> {
  const socket = new WebSocket(`${url.replace("http", "ws")}/agents/hello/test`);
  return new Promise((resolve, reject) => {
    socket.once("error", reject);
    socket.on("message", (data) => {
      const frame = JSON.parse(String(data)) as { type: string; state?: { reminders: { note: string }[] } };
      if (frame.type !== "cf_agent_state" || !frame.state?.reminders.length) return;
      socket.close();
      resolve(frame.state.reminders.map(({ note }) => note));
    });
  });
}

describe("npm start", () => {
  test("serves the page and the agent, and what it knows survives a restart", async () => {
    const first = start("0");
    const url = await first.url;
    expect(await (await fetch(url)).text()).toContain("Hello from everthink");
    expect(await call(url, "add", [2])).toEqual([2]);
    expect(await call(url, "countTo", [3])).toEqual([1, 2, 3, "done"]);
    expect(await call(url, "add", ["many"])).toEqual(["amount must be a whole number from -100 to 100."]);
    await call(url, "remindIn", [1, "water"]);
    first.child.kill("SIGTERM");
    expect((await first.ended).code).toBe(0);

    const second = start("0");
    expect(await call(await second.url, "add", [1])).toEqual([3]);
    expect(await reminders(await second.url)).toEqual(["water"]);
    second.child.kill("SIGINT");
    expect((await second.ended).code).toBe(0);
  });

  test("says plainly that a port is taken, and exits with 1", async () => {
    const { port } = new URL(await start("0").url);
    const { code, output } = await start(port).ended;
    expect(output).toContain(`Port ${port} is already in use.`);
    expect(output).not.toMatch(/Error|at .*:\d+/);
    expect(code).toBe(1);
  });

  test("refuses a port that is none", async () => {
    const { code, output } = await start("eighty").ended;
    expect([code, output]).toEqual([1, 'PORT must be a number from 0 to 65535, not "eighty".\n']);
  });
});
