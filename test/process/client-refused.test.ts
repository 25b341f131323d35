// What a client receives when it is refused, over real sockets against a real workerd: with Node's own WebSocket, where
// a failed handshake fires an error and nothing else, and with that of the package "ws".
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import WS from "ws";
import { createThinkClient, type ThinkClient, type ThinkSnapshot } from "../../src/client/index.ts";
import { startWorker, type WorkerServer } from "./workerd-process.ts";

let server: WorkerServer;
const clients: ThinkClient[] = [];

beforeAll(async () => {
  server = await startWorker({
    entry: new URL("./fixtures/refusing-worker.ts", import.meta.url),
    objects: ["Refusing"]
  });
});

afterEach(() => {
  for (const client of clients.splice(0)) client.close();
});

/** Resolves at the first snapshot that fits, with the milliseconds it took. */
function until(client: ThinkClient, fits: (snapshot: ThinkSnapshot) => boolean): Promise<number> {
  const from = performance.now();
  return new Promise((resolve) => {
    const look = () => {
      if (!fits(client.getSnapshot())) return;
      unsubscribe();
      resolve(performance.now() - from);
    };
    const unsubscribe = client.subscribe(look);
    look();
  });
}

/** Far less than the 10 s after which a connection that does not open is given up, and much more than is needed. */
const AT_ONCE_MS = 5_000;

describe.each([
  ["Node", globalThis.WebSocket],
  ["ws", WS]
])("with the WebSocket of %s", (_name, WebSocket) => {
  const connect = (path: string, query: Record<string, string> = {}) => {
    const client = createThinkClient({ url: `${server.url}${path}`, query, WebSocket });
    clients.push(client);
    return client;
  };

  test.each([
    ["/nowhere/a", {}, "404 No such page"],
    ["/agents/refusing/a", { token: "stale" }, "401 Log in first"],
    ["/agents/unknown/a", {}, "400 "]
  ])("%s %o is refused with the server's words, and what was asked ends with them", async (path, query, words) => {
    const client = connect(path, query);
    const from = performance.now();
    const { outcome, error } = await client.send("Hi");
    expect(performance.now() - from).toBeLessThan(AT_ONCE_MS);
    expect([outcome, error]).toEqual(["error", expect.stringContaining(`The server refused the connection: ${words}`)]);
    expect(client.getSnapshot()).toMatchObject({ connection: "refused", connectionError: error });
  });

  test.each([
    ["a connect hook that fails", "/agents/refusing/fail", { fail: "1" }],
    ["an agent that cannot start", "/agents/refusing/broken", {}]
  ])("%s is told at once, with its code and without its words", async (_what, path, query) => {
    const client = connect(path, query);
    const tookMs = await until(client, ({ connectionError }) => connectionError?.includes("1011") === true);
    expect(tookMs).toBeLessThan(AT_ONCE_MS);
    expect(client.getSnapshot().connectionError).not.toContain("guest book");
  });

  test("a connection that its agent closes for good is refused at once, with the agent's words", async () => {
    const client = connect("/agents/refusing/close", { close: "1" });
    const tookMs = await until(client, ({ connection }) => connection === "refused");
    expect(tookMs).toBeLessThan(AT_ONCE_MS);
    const { connectionError } = client.getSnapshot();
    expect(connectionError).toBe("The server closed the connection: Your session has ended (4001).");
  });

  test("a server that was down is found again soon, and what was asked meanwhile is answered", async () => {
    await server.kill();
    const client = connect("/agents/refusing/late");
    const ended = client.send("Hi");
    await until(client, ({ connectionError }) => connectionError?.includes("cannot be reached") === true);
    await server.start();
    expect(await until(client, ({ connection }) => connection === "open")).toBeLessThan(AT_ONCE_MS);
    expect(await ended).toMatchObject({ outcome: "completed" });
  });

  test("a message over the platform's limit ends at once, and the next one is answered", async () => {
    const client = connect("/agents/refusing/large");
    expect(await client.send("x".repeat(33_600_000))).toMatchObject({ outcome: "error" });
    expect(await client.send("Hi")).toMatchObject({ outcome: "completed" });
  });
});

test("a client that says nothing is told at once that the agent cannot start", async () => {
  const from = performance.now();
  const socket = new WS(`${server.url.replace("http", "ws")}/agents/refusing/broken`);
  const code = await new Promise((resolve) => socket.on("close", resolve));
  expect(code).toBe(1011);
  expect(performance.now() - from).toBeLessThan(AT_ONCE_MS);
});
