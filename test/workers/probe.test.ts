import { evictAllDurableObjects, abortAllDurableObjects } from "cloudflare:test";
import { afterEach, expect, test } from "vitest";
import { getAgentByName, getSubAgentByName } from "../../src/agent/index.ts";
import { Member } from "../conformance/agents.ts";
import { connect, env, errorOf, fetchPath, rawStub, uniqueName } from "./world.ts";
afterEach(async () => { await abortAllDurableObjects(); });
async function timed(what: string, work: () => Promise<unknown>) {
  await work();
  const t = Date.now();
  const r = await Promise.race([evictAllDurableObjects().then(() => "ok"), new Promise((r) => setTimeout(() => r("STUCK"), 2000))]);
  console.log(`RES ${what} ${r} ${Date.now() - t}`);
}
const cases: Record<string, () => Promise<unknown>> = {
  getSubHello: async () => { const m = await getSubAgentByName(await getAgentByName(env.Room, uniqueName()), Member, "a"); await m.hello(); },
  parentObject: async () => { const m = await getSubAgentByName(await getAgentByName(env.Room, uniqueName()), Member, "a"); await m.helloParentFromBelow("b"); },
  spawnMember: async () => { const r = await getAgentByName(env.Room, uniqueName()); await r.spawnMember("b"); },
  callable: async () => { const s = await connect(`/agents/room/${uniqueName()}`); await s.call("spawnMember", "x"); },
};
for (const [name, work] of Object.entries(cases)) test(name, () => timed(name, work));
