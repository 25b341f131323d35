// `@modelcontextprotocol/server-everything` as a process of its own, which tests can kill.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { afterAll } from "vitest";
import { freePort } from "../../../tools/free-port.ts";

const running = new Set<ChildProcess>();
afterAll(() => {
  for (const child of running) child.kill("SIGKILL");
});

export interface Everything {
  readonly url: string;
  kill(): Promise<void>;
  /** Again, at the same address. */
  start(): Promise<void>;
}

export async function startEverything(transport: "streamableHttp" | "sse"): Promise<Everything> {
  const port = await freePort("localhost");
  let child: ChildProcess | undefined;
  const start = async () => {
    child = await startOnce(transport, port);
  };
  await start();
  return {
    url: `http://localhost:${port}/${transport === "sse" ? "sse" : "mcp"}`,
    start,
    kill: async () => {
      const dying = child;
      if (dying === undefined || dying.exitCode !== null) return;
      const gone = once(dying, "exit");
      dying.kill("SIGKILL");
      await gone;
      running.delete(dying);
    }
  };
}

async function startOnce(transport: string, port: number): Promise<ChildProcess> {
  const script = createRequire(import.meta.url).resolve("@modelcontextprotocol/server-everything/dist/index.js");
  const child = spawn(process.execPath, [script, transport], {
    env: { ...process.env, PORT: String(port) },
    stdio: ["ignore", "ignore", "pipe"]
  });
  running.add(child);
  let output = "";
  await new Promise<void>((resolve, reject) => {
    child.stderr?.on("data", (chunk: Buffer) => {
      output += String(chunk);
      if (output.includes(`port ${port}`)) resolve();
    });
    child.once("exit", () => reject(new Error(`server-everything ended: ${output}`)));
  });
  return child;
}
