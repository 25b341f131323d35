// The client library over real sockets against a real workerd, which is killed in the middle. The worker is the one of
// the browser tests: its model streams word by word, each when the test allows it.
import { afterEach, expect, test } from "vitest";
import WebSocket from "ws";
import { createThinkClient, type ThinkClient, type ThinkSnapshot } from "../../src/client/index.ts";
import type { ChatAgent } from "../browser/chat-worker.ts";
import { startWorker } from "./workerd-process.ts";

const worker = { entry: new URL("../browser/chat-worker.ts", import.meta.url), objects: ["ChatAgent"] };
const clients: ThinkClient<ChatAgent>[] = [];

afterEach(() => {
  for (const client of clients.splice(0)) client.close();
});

function connect(url: string, settings: object = {}) {
  const client = createThinkClient<ChatAgent>({ url: `${url}/agents/chat-agent/a`, WebSocket, ...settings });
  clients.push(client);
  return client;
}

/** Resolves at the first snapshot that fits. */
function until(client: ThinkClient<ChatAgent>, fits: (snapshot: ThinkSnapshot) => boolean): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (!fits(client.getSnapshot())) return;
      unsubscribe();
      resolve();
    };
    const unsubscribe = client.subscribe(look);
    look();
  });
}

const textOf = ({ messages }: ThinkSnapshot): string =>
  messages.map(({ parts }) => parts.map((part) => (part.type === "text" ? part.text : "")).join("")).join("|");

const open = async (url: string, permits: number) =>
  void (await fetch(`${url}/agents/chat-agent/a/gate?permits=${permits}`));

const stored = async (url: string): Promise<unknown> => (await fetch(`${url}/agents/chat-agent/a/get-messages`)).json();

test("a turn, a second tab and a stop, over real sockets", async () => {
  const { url } = await startWorker(worker);
  const [one, two] = [connect(url), connect(url)];
  await until(two, ({ connection }) => connection === "open");
  expect(await one.send("hello")).toMatchObject({ outcome: "completed" });
  await until(two, ({ status, messages }) => messages.length === 2 && status === "settled");
  expect(two.getSnapshot().messages).toEqual(one.getSnapshot().messages);
  const stopped = one.send("slow");
  await open(url, 2);
  await until(two, (snapshot) => textOf(snapshot).endsWith("one two "));
  two.stop();
  expect(await stopped).toMatchObject({ outcome: "aborted" });
  expect(await one.call("fence", [])).toBe("passed");
  expect(one.getSnapshot()).toMatchObject({ status: "settled", messages: await stored(url) });
});

test("client tools and approvals, over real sockets", async () => {
  const { url } = await startWorker(worker);
  const client = connect(url, { tools: { browserName: { execute: () => "ws" } } });
  await client.send("tool");
  await until(client, (snapshot) => snapshot.status === "settled" && textOf(snapshot).includes("ws"));
  await client.send("approve");
  await until(client, ({ pendingApprovals }) => pendingApprovals.length === 1);
  await client.approve(client.getSnapshot().pendingApprovals[0]?.callId ?? "");
  await until(client, (snapshot) => snapshot.status === "settled" && textOf(snapshot).includes("sentTo"));
  expect(await (await fetch(`${url}/agents/chat-agent/a/mails`)).json()).toBe(1);
});

test("an answer goes on after SIGKILL, and what was written meanwhile is sent once", async () => {
  const server = await startWorker(worker);
  const { url } = server;
  const client = connect(url);
  const slow = client.send("slow");
  await open(url, 3);
  await until(client, (snapshot) => textOf(snapshot).endsWith("three "));
  await server.kill();
  await until(client, ({ connection }) => connection === "reconnecting");
  const offline = client.send("while you were out");
  expect(client.getSnapshot().status).toBe("running");
  await server.start();
  await open(url, Infinity);
  expect(await slow).toMatchObject({ outcome: "completed" });
  expect(await offline).toMatchObject({ outcome: "completed" });
  await until(client, ({ status }) => status === "settled");
  expect(await client.call("fence", [])).toBe("passed");
  expect(textOf(client.getSnapshot())).toMatch(/^slow\|one two three four five six\|while you were out\|You said/);
  expect(client.getSnapshot().messages).toEqual(await stored(url));
});

test("approved and asked while the server was dead: both arrive, in that order, and the mail is sent once", async () => {
  const server = await startWorker(worker);
  const { url } = server;
  const client = connect(url);
  await client.send("approve");
  await until(client, ({ pendingApprovals }) => pendingApprovals.length === 1);
  await server.kill();
  await until(client, ({ connection }) => connection === "reconnecting");
  const approved = client.approve(client.getSnapshot().pendingApprovals[0]?.callId ?? "");
  const asked = client.send("and now?");
  await server.start();
  await approved;
  expect(await asked).toMatchObject({ outcome: "completed" });
  await until(client, (snapshot) => snapshot.status === "settled" && textOf(snapshot).includes("sentTo"));
  expect(await (await fetch(`${url}/agents/chat-agent/a/mails`)).json()).toBe(1);
  expect(client.getSnapshot()).toMatchObject({ pendingApprovals: [], messages: await stored(url) });
});
