import { expect, test } from "vitest";
import type { RoomState } from "../../clients/generation.ts";
import { startWorker } from "../workerd-process.ts";
import { EventLog } from "./event-log.ts";
import { generations, roomWorker } from "./generations.ts";
import { renderHook } from "./hook-stage.ts";

const sub = { agent: "desk", name: "window" };

test("every client comes back by itself after SIGKILL, with the state as stored", async () => {
  const server = await startWorker(roomWorker);
  const { host } = new URL(server.url);
  const target = { host, agent: "Room", name: "survivor" };
  const closes = new EventLog<string>();

  const clients = generations.map((generation) => {
    const updates = new EventLog<RoomState>();
    const client = generation.connect<RoomState>({ ...target, onStateUpdate: updates.add });
    client.addEventListener("close", () => closes.add(`client ${generation.version}`));
    return { client, updates };
  });
  const desks = generations.map((generation) => {
    const updates = new EventLog<{ owner: string }>();
    const path = `sub/${sub.agent}/${sub.name}`;
    const client = generation.connect<{ owner: string }>({ ...target, path, onStateUpdate: updates.add });
    client.addEventListener("close", () => closes.add(`desk ${generation.version}`));
    return { client, updates };
  });
  const hooks = await Promise.all(
    generations.map(async (generation) => {
      const useHook = () => generation.useAgent<RoomState>(target);
      return renderHook(useHook, ({ state, identified }) => ({ state, identified }));
    })
  );
  const [writer] = clients;
  await writer!.client.call("add", [41]);
  writer!.client.setState({ count: 42, note: "kept" });
  await desks[0]!.client.call("take", ["ada"]);
  await clients[1]!.updates.find(({ count }) => count === 42);
  for (const { renders } of hooks) await renders.find(({ state, identified }) => identified && state?.count === 42);
  for (const { updates } of desks) await updates.find(({ owner }) => owner === "ada");

  const cutOff = clients.map(({ client }, index) =>
    client.call("hold", [`cut-${index}`]).catch((error: Error) => error.message)
  );
  // Answered only after both calls above have reached the server.
  for (const { client } of clients) await client.call("echo", ["sent"]);
  const seen = clients.map(({ updates }) => updates.events.length);
  const seenByDesks = desks.map(({ updates }) => updates.events.length);
  await server.kill();
  await closes.find(() => closes.events.length === 4);
  expect(await Promise.all(cutOff)).toEqual(generations.map(() => "Connection closed"));
  for (const { renders } of hooks) await renders.find(({ identified }) => !identified, renders.events.length - 1);
  // Made while no server answers: sent as soon as one does.
  const waiting = clients.map(({ client }) => client.call("echo", ["after the restart"]));
  const renders = hooks.map(({ renders: log }) => log.events.length);

  await server.start();
  for (const [index, { client, updates }] of clients.entries()) {
    await client.ready;
    expect(await updates.find(() => true, seen[index])).toEqual({ count: 42, note: "kept" });
    expect([client.name, client.agent]).toEqual(["survivor", "room"]);
  }
  expect(await Promise.all(waiting)).toEqual(generations.map(() => "after the restart"));
  for (const [index, { client, updates }] of desks.entries()) {
    await client.ready;
    expect(await updates.find(() => true, seenByDesks[index])).toEqual({ owner: "ada" });
  }
  for (const [index, { renders: log }] of hooks.entries()) {
    const back = await log.find(({ identified, state }) => identified && state !== undefined, renders[index]);
    expect(back.state).toEqual({ count: 42, note: "kept" });
  }
  // And they are in touch with each other again.
  await clients[1]!.client.call("add", [1]);
  await writer!.updates.find(({ count }) => count === 43);
  for (const { renders: log } of hooks) await log.find(({ state }) => state?.count === 43);

  for (const { client } of [...clients, ...desks]) client.close();
  for (const hook of hooks) hook.unmount();
  await server.stop();
});
