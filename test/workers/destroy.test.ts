import { abortAllDurableObjects, evictDurableObject, runDurableObjectAlarm } from "cloudflare:test";
import { expect, test, vi } from "vitest";
import { getAgentByName, getSubAgentByName } from "../../src/agent-class/index.ts";
import { Member, Room } from "../conformance/agents.ts";
import { alarmOf, connect, env, errorOf, fetchPath, rawStub, setAlarmOf, sqlOf, uniqueName } from "./world.ts";

const userTables = `SELECT name FROM sqlite_master WHERE ${["cf", "sqlite", "assistant", "think"]
  .map((prefix) => `name NOT LIKE '${prefix}\\_%' ESCAPE '\\'`)
  .join(" AND ")}`;

/** destroy() ends the object on a later tick: the caller may see that, and the stub is of no use afterwards. */
async function destroyed(name: string): Promise<void> {
  await rawStub(env.Room, name)
    .destroy()
    .catch(() => undefined);
}

test("destroy() deletes everything stored, children and alarm included, and the name starts afresh", async () => {
  const name = uniqueName();
  const room = await getAgentByName(env.Room, name);
  await room.write({ count: 9 });
  const member = await getSubAgentByName(room, Member, "m");
  await member.mark("gone soon");
  await member.remindMe(3_600, "never");
  expect(await alarmOf(room)).not.toBeNull();
  await destroyed(name);
  const again = () => rawStub(env.Room, name);
  await expect.poll(async () => (await sqlOf(again(), userTables)).length).toBe(0);
  expect(await sqlOf(again(), "SELECT identity, condemned FROM cf_meta")).toEqual([{ identity: null, condemned: 0 }]);
  expect(await alarmOf(again())).toBeNull();
  expect(await again().read()).toEqual({ state: { count: 0 } });
  expect(await again().entries()).toEqual(["start:"]);
  expect(await (await getSubAgentByName(again(), Member, "m")).marks()).toEqual([]);
});

test("destroy() ends the sockets of the agent, and its clients can connect to the new one", async () => {
  const name = uniqueName();
  const socket = await connect(`/agents/room/${name}`);
  await socket.call("increment", 5);
  await destroyed(name);
  await socket.ended;
  const fresh = await connect(`/agents/room/${name}`);
  expect(await fresh.next("cf_agent_state")).toMatchObject({ state: { count: 0 } });
});

test("destroy() inside a scheduled callback stops the alarm and leaves nothing behind", async () => {
  const name = uniqueName();
  const clerk = rawStub(env.Clerk, name);
  await clerk.book(3_600, "endMyself");
  await clerk.book(3_600, "record", "after");
  await sqlOf(clerk, "UPDATE cf_work SET due_at = 1");
  await runDurableObjectAlarm(clerk).catch(() => undefined);
  const again = () => rawStub(env.Clerk, name);
  await expect.poll(async () => (await sqlOf(again(), userTables)).length).toBe(0);
  expect(await sqlOf(again(), "SELECT * FROM cf_work")).toEqual([]);
  expect(await alarmOf(again())).toBeNull();
  expect(await again().entries()).toEqual(["start"]);
});

/** As a crash leaves an object whose destroy() had only begun: the mark and the alarm are one write. */
async function condemn(name: string): Promise<void> {
  const room = await getAgentByName(env.Room, name);
  await room.write({ count: 9 });
  await sqlOf(room, "UPDATE cf_meta SET condemned = 1");
  await setAlarmOf(room, Date.now() + 3_600_000);
  await evictDurableObject(room);
}

test("a condemned object refuses requests with 410, sockets with 1008 and calls with a named error, and never starts", async () => {
  const name = uniqueName();
  await condemn(name);
  const start = vi.spyOn(Room.prototype, "onStart");
  const response = await fetchPath(`/agents/room/${name}/x`);
  expect([response.status, await response.text()]).toEqual([410, "Gone"]);
  const socket = await connect(`/agents/room/${name}`);
  expect(await socket.ended).toEqual({ code: 1008, reason: "Agent destroyed" });
  expect(socket.frames).toEqual([]);
  expect(await errorOf(() => rawStub(env.Room, name).describe())).toBe("This agent was destroyed.");
  expect(await errorOf(() => getAgentByName(env.Room, name))).toBe("This agent was destroyed.");
  expect(start).not.toHaveBeenCalled();
  start.mockRestore();
  expect(await alarmOf(rawStub(env.Room, name))).not.toBeNull();
});

test("a client that was connected when destroy() began is closed with 1008 by its next frame", async () => {
  const name = uniqueName();
  const socket = await connect(`/agents/room/${name}`);
  await socket.next("welcome");
  await condemn(name);
  socket.send("hello?");
  expect(await socket.ended).toEqual({ code: 1008, reason: "Agent destroyed" });
});

test("a destroy() that was cut off is finished by the alarm without onStart", async () => {
  const name = uniqueName();
  await condemn(name);
  await abortAllDurableObjects();
  const start = vi.spyOn(Room.prototype, "onStart");
  await runDurableObjectAlarm(rawStub(env.Room, name)).catch(() => undefined);
  const again = () => rawStub(env.Room, name);
  await expect.poll(async () => (await sqlOf(again(), userTables)).length).toBe(0);
  expect(start).not.toHaveBeenCalled();
  start.mockRestore();
  expect(await alarmOf(again())).toBeNull();
  expect(await again().entries()).toEqual(["start:"]);
  expect(await again().read()).toEqual({ state: { count: 0 } });
});
