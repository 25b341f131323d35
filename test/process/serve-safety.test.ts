// What `everthink serve` does about strangers, mistakes and lost files, in real processes.
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, test } from "vitest";
import WebSocket from "ws";
import { bundleWorker } from "../../tools/bundle-worker.ts";
import { isAlive, ServedProject, type ServeRun } from "./served-project.ts";

const PATIENCE = { timeout: 20_000, interval: 20 };

let project: ServedProject;
beforeAll(async () => {
  project = new ServedProject();
  project.installWorkerd();
  const entry = fileURLToPath(new URL("./fixtures/notes-worker.ts", import.meta.url));
  await bundleWorker({ entry, outputFile: join(project.folder, "worker.js") });
});

const serve = (data: string, ...args: string[]) =>
  project.serve(["worker.js", "--objects", "Notes,Other", "--data", data, ...args]);

interface Sent {
  path?: string;
  method?: string;
  headers?: Record<string, string>;
}

async function send(run: ServeRun, { path = "/agents/notes/a", method = "GET", headers = {} }: Sent): Promise<number> {
  const asked = request((await run.url()) + path, { method, headers }).end();
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  answer.resume();
  return answer.statusCode ?? 0;
}

/** 101, or the status with which the upgrade was refused. */
async function upgrade(run: ServeRun, headers: Record<string, string>): Promise<number> {
  const socket = new WebSocket(`${(await run.url()).replace("http", "ws")}/agents/notes/a`, { headers });
  return new Promise((resolve) => {
    socket.once("open", () => resolve(101));
    socket.once("unexpected-response", (_request, answer: IncomingMessage) => resolve(answer.statusCode ?? 0));
  }).then((status) => {
    socket.on("error", () => undefined);
    socket.terminate();
    return status as number;
  });
}

async function stop(run: ServeRun): Promise<void> {
  run.child.kill("SIGTERM");
  expect(await run.ended).toBe(0);
}

async function refusal(run: ServeRun): Promise<string> {
  expect(await run.ended, run.output).toBe(1);
  return run.output;
}

test("other users of the machine can read nothing that is stored: folders are 700, new files 600", async () => {
  const run = serve("data-modes", "--grace", "0");
  expect(await send(run, { method: "POST" })).toBe(200);
  const folder = join(project.folder, "data-modes");
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const open = entries.flatMap((entry) => {
    const { mode } = statSync(join(entry.parentPath, entry.name));
    // Copies of the programs keep the mode of their files; the folder around it is closed.
    return (mode & 0o077) === 0 || entry.name.endsWith(".js") ? [] : [`${entry.name} ${(mode & 0o777).toString(8)}`];
  });
  expect(entries.some(({ name }) => name.endsWith(".sqlite"))).toBe(true);
  expect(open).toEqual([]);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  await stop(run);
});

describe("strangers", () => {
  test("a page of another site can neither connect nor change anything, and the log says how to allow it", async () => {
    const run = serve("data-origin", "--grace", "0");
    const origins = ["https://evil.example", "http://evil.example:8787", "null", "http://192.168.1.2"];
    let tried = 0;
    for (const Origin of origins) {
      expect(await upgrade(run, { Origin })).toBe(403);
      for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
        expect(await send(run, { method, headers: { Origin } })).toBe(403);
        tried += 1;
      }
      tried += 1;
    }
    expect(tried).toBe(20);
    await run.says(/Refused a request of a page of "https:\/\/evil\.example".*allowedOrigins/);
    expect(await run.json("/agents/notes/a")).toBe(0);
    const own = await run.url();
    for (const origin of [undefined, own, "http://localhost:5173"]) {
      const headers: Record<string, string> = origin === undefined ? {} : { Origin: origin };
      expect([await upgrade(run, headers), await send(run, { method: "POST", headers })]).toEqual([101, 200]);
    }
    expect(await run.json("/agents/notes/a")).toBe(3);
    await stop(run);
  });

  test("a name that was pointed at this machine is refused, by pages and sockets, and the log names the option", async () => {
    const run = serve("data-host", "--grace", "0");
    const { port } = new URL(await run.url());
    let tried = 0;
    for (const Host of [`evil.example:${port}`, "evil.example", "localhost.evil.example", `192.168.1.2:${port}`]) {
      const headers = { Host, Origin: `http://${Host}` };
      for (const method of ["GET", "POST"]) expect(await send(run, { method, headers })).toBe(403);
      expect(await upgrade(run, headers)).toBe(403);
      tried += 3;
    }
    expect(tried).toBe(12);
    await run.says(/Refused a request for the host "evil\.example".*--allow-host evil\.example/);
    for (const Host of [`localhost:${port}`, `127.0.0.1:${port}`, "localhost", `[::1]:${port}`]) {
      expect([Host, await send(run, { headers: { Host } })]).toEqual([Host, 200]);
    }
    expect(await send(run, { path: "/__think/health", headers: { Host: "monitor.example" } })).toBe(200);
    await stop(run);
  });

  test("a name given with --allow-host is answered, as a proxy passes it on", async () => {
    const run = serve("data-allowed", "--allow-host", "App.example.com", "--grace", "0");
    const headers = { Host: "app.example.com", Origin: "https://app.example.com" };
    expect(await send(run, { method: "POST", headers })).toBe(200);
    expect(await upgrade(run, headers)).toBe(101);
    expect(await send(run, { headers: { Host: "evil.example" } })).toBe(403);
    await stop(run);
  });

  test("an address that others can reach answers to every name", async () => {
    const run = serve("data-open", "--host", "0.0.0.0");
    expect(await send(run, { headers: { Host: "any.example" } })).toBe(200);
    await stop(run);
  });
});

describe("mistakes", () => {
  test("a private address that the Worker may not reach is explained with the option", async () => {
    const run = serve("data-private");
    await run.fetch("/private");
    await run.says(/worker\s+The Worker may not reach this machine.*--allow-private-network allows it\./);
    expect(run.output).not.toMatch(/restrictPeers|workerd@/);
    await stop(run);
  });

  test("a class that the build does not export is refused, with those it exports, before the data is touched", async () => {
    const output = await refusal(project.serve(["worker.js", "--objects", "Notes,Notse", "--data", "data-class"]));
    expect(output).toBe(
      "The build does not export the class Notse given with --objects.\n" +
        "Classes of Durable Objects it exports: Notes, Other. Class names must survive the bundler.\n"
    );
    expect(existsSync(join(project.folder, "data-class"))).toBe(false);
  });

  test("without --objects the classes that were found are listed", async () => {
    const run = project.serve(["worker.js", "--data", "data-unbound"]);
    expect(await (await run.fetch("/")).text()).toBe("no agent");
    expect(run.output).toContain("The build exports: Notes, Other. Bind with --objects Notes,Other\n");
    await stop(run);
  });

  test("a second Ctrl-C does not wait for open sockets", async () => {
    const graceMs = 8_000;
    const run = serve("data-hurry", "--grace", String(graceMs / 1000));
    const socket = new WebSocket(`${(await run.url()).replace("http", "ws")}/agents/notes/a`);
    await once(socket, "open");
    socket.on("error", () => undefined);
    run.child.kill("SIGINT");
    await run.says(/Stopping\. Open requests and sockets get 8 s; once more stops at once\./);
    expect(run.workerds()).toHaveLength(1);
    const askedAt = performance.now();
    run.child.kill("SIGINT");
    expect(await run.ended).toBe(0);
    expect(performance.now() - askedAt).toBeLessThan(graceMs / 2);
  });
});

describe("a write-ahead log", () => {
  /** A folder in which a process was killed with commits in the log only; `end` says who was killed. */
  async function killed(data: string, end: "workerd" | "all"): Promise<string> {
    const run = serve(data, "--grace", "0");
    for (let count = 1; count <= 3; count += 1) {
      expect(await (await run.fetch("/agents/notes/a", { method: "POST" })).json()).toBe(count);
    }
    const [pid] = run.workerds();
    // Stopped without grace, the supervisor kills workerd and ends by itself.
    run.child.kill(end === "all" ? "SIGKILL" : "SIGTERM");
    await run.ended;
    await expect.poll(() => isAlive(pid!), PATIENCE).toBe(false);
    const folder = join(project.folder, data, "everthink-Notes");
    const name = readdirSync(folder).find((one) => /^[0-9a-f]{64}\.sqlite-wal$/.test(one)) ?? "none";
    // The last thing a run leaves, whichever process writes it.
    const list = join(project.folder, data, ".everthink", "open-logs");
    await expect.poll(() => existsSync(list) && readFileSync(list, "utf8"), PATIENCE).toContain(name);
    return join(folder, name);
  }

  /** What the next start says and how much is left. */
  async function restarted(data: string): Promise<{ output: string; count: unknown }> {
    const run = serve(data, "--grace", "0");
    const count = await run.json("/agents/notes/a");
    await stop(run);
    return { output: run.output, count };
  }

  const LOST = /Data may be lost: everthink-Notes\/[0-9a-f]{64}\.sqlite-wal is (missing|damaged)\./;

  test.each(["workerd", "all"] as const)(
    "that is intact gives back every commit, without a word (%s killed)",
    async (end) => {
      const data = `data-wal-intact-${end}`;
      await killed(data, end);
      const { output, count } = await restarted(data);
      expect(count).toBe(3);
      expect(output).not.toContain("Data may be lost");
      expect((await restarted(data)).output).not.toContain("Data may be lost");
    }
  );

  test.each(["workerd", "all"] as const)("that was removed leaves a warning, once (%s killed)", async (end) => {
    const data = `data-wal-removed-${end}`;
    rmSync(await killed(data, end));
    expect(LOST.exec((await restarted(data)).output)?.[1]).toBe("missing");
    expect((await restarted(data)).output).not.toContain("Data may be lost");
  });

  test.each(["workerd", "all"] as const)(
    "that was removed with its index leaves a warning (%s killed)",
    async (end) => {
      const data = `data-wal-both-${end}`;
      const log = await killed(data, end);
      rmSync(log);
      rmSync(log.replace(/-wal$/, "-shm"), { force: true });
      expect(LOST.exec((await restarted(data)).output)?.[1]).toBe("missing");
    }
  );

  test("that was damaged in the middle leaves a warning", async () => {
    const log = await killed("data-wal-damaged", "all");
    const bytes = readFileSync(log);
    const middle = Math.floor(bytes.length / 2);
    bytes.fill(0xa5, middle, middle + 16);
    writeFileSync(log, bytes);
    expect(LOST.exec((await restarted("data-wal-damaged")).output)?.[1]).toBe("damaged");
  });

  test("that was cut off, or overwritten from the start, leaves a warning", async () => {
    const cut = await killed("data-wal-cut", "all");
    truncateSync(cut, Math.floor(readFileSync(cut).length / 2));
    expect(LOST.exec((await restarted("data-wal-cut")).output)?.[1]).toBe("damaged");
    const overwritten = await killed("data-wal-garbage", "all");
    writeFileSync(overwritten, "garbage".repeat(1_000));
    expect(LOST.exec((await restarted("data-wal-garbage")).output)?.[1]).toBe("damaged");
  });
});
