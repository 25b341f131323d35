import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import WebSocket from "ws";
import { PortTakenError } from "../../tools/serve-worker.ts";
import { startWorker } from "./workerd-process.ts";

const plainCounter = { entry: new URL("./fixtures/plain-counter.ts", import.meta.url), objects: ["Counter"] };

async function count(url: string): Promise<unknown> {
  return (await fetch(url)).json();
}

describe("a worker on a real workerd process", () => {
  test("finds what was committed after SIGKILL, on the same port", async () => {
    const server = await startWorker(plainCounter);
    expect(await count(server.url)).toEqual({ count: 1, name: "Counter" });
    const { port } = server;
    await server.kill();
    await expect(fetch(server.url)).rejects.toThrow();
    await server.start();
    expect(server.port).toBe(port);
    expect(await count(server.url)).toEqual({ count: 2, name: "Counter" });
    await server.stop();
  });

  test("ends with its open sockets and leaves nothing behind", async () => {
    const server = await startWorker(plainCounter);
    const socket = new WebSocket(server.url.replace("http", "ws"));
    await once(socket, "open");
    socket.send("hello");
    const [reply] = await once(socket, "message");
    expect(String(reply)).toBe("echo hello");
    const closed = once(socket, "close");
    const { dataDirectory } = server;
    await server.stop();
    expect((await closed)[0]).toBe(1006);
    expect(server.isRunning).toBe(false);
    expect(existsSync(dataDirectory)).toBe(false);
  });

  test("shows the console of the worker, and runs its alarms", async () => {
    let output = "";
    const rang = Promise.withResolvers<void>();
    const onOutput = (text: string) => {
      output += text;
      if (output.includes("alarm rang")) rang.resolve();
    };
    const server = await startWorker({ ...plainCounter, onOutput });
    await count(`${server.url}/alarm`);
    await rang.promise;
    expect(await count(server.url)).toEqual({ count: 102, name: "Counter" });
    expect(server.log).toContain("alarm rang");
    await server.stop();
  });

  test("names the port when it is taken", async () => {
    const first = await startWorker(plainCounter);
    const second = startWorker({ ...plainCounter, port: first.port });
    await expect(second).rejects.toThrow(PortTakenError);
    await first.stop();
  });

  test("says what workerd said when the worker cannot be loaded", async () => {
    const broken = { entry: new URL("./fixtures/broken-on-load.ts", import.meta.url), objects: [] };
    await expect(startWorker(broken)).rejects.toThrow(expect.objectContaining({ name: "WorkerdStartError" }));
    await expect(startWorker(broken)).rejects.toThrow(/not today/);
  });

  test("names the object class the worker forgot to export", async () => {
    await expect(startWorker({ ...plainCounter, objects: ["Missing"] })).rejects.toThrow("does not export Missing");
  });

  test("dies with the process that started it, even by SIGKILL", async () => {
    const keeper = fileURLToPath(new URL("./fixtures/keeper.ts", import.meta.url));
    const parent = spawn(process.execPath, [keeper], { stdio: ["ignore", "pipe", "inherit"] });
    const [line] = await once(parent.stdout.setEncoding("utf8"), "data");
    const { url, dataDirectory } = JSON.parse(String(line)) as { url: string; dataDirectory: string };
    const socket = new WebSocket(url.replace("http", "ws"));
    await once(socket, "open");
    const closed = once(socket, "close");
    parent.kill("SIGKILL");
    await closed;
    await expect.poll(() => existsSync(dataDirectory)).toBe(false);
    await expect(fetch(url)).rejects.toThrow();
  });
});
