// The published React hooks, unchanged, see the runs of sub-agents: live, in a second tab, and after the server was killed.
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { AgentToolRuns } from "../../clients/generation.ts";
import { startWorker, type WorkerServer } from "../workerd-process.ts";
import { generations } from "./generations.ts";
import { renderHook } from "./hook-stage.ts";

let server: WorkerServer;
const mounted: { unmount(): void }[] = [];

beforeAll(async () => {
  server = await startWorker({ entry: new URL("./team-worker.ts", import.meta.url), objects: ["Lead"] });
});
beforeEach(async () => void (await fetch(`${server.url}/hold`)));
afterEach(() => {
  for (const component of mounted.splice(0)) component.unmount();
});

const QUESTION = { id: "m1", role: "user", parts: [{ type: "text", text: "Go" }] };
const REQUEST = JSON.stringify({
  type: "cf_agent_use_chat_request",
  id: "r1",
  init: { method: "POST", body: JSON.stringify({ messages: [QUESTION] }) }
});

/** What a page would show of each call. */
function cards({ runsByToolCallId }: AgentToolRuns): Record<string, string> {
  const shown = Object.entries(runsByToolCallId).map(([callId, runs]) => [
    callId,
    runs.map(({ status, parts, display }) => `${display?.name} ${status}: ${textOf(parts)}`).join(" | ")
  ]);
  return Object.fromEntries(shown);
}

function textOf(parts: readonly { type: string; text?: string }[]): string {
  return parts.map(({ text }) => text ?? "").join("");
}

const both = (line: string) => ({ "call-tides": line, "call-winds": line });

describe.each(generations)("useAgentToolEvents of $version", (generation) => {
  async function mount(name: string) {
    const host = new URL(server.url).host;
    const component = await renderHook(
      () => {
        const agent = generation.useAgent({ host, agent: "Lead", name });
        return { agent, tools: generation.useAgentToolEvents({ agent }) };
      },
      ({ agent, tools }) => ({ identified: agent.identified, cards: cards(tools) })
    );
    mounted.push(component);
    await component.renders.find(({ identified }) => identified);
    const shows = (line: string) =>
      component.renders.find((render) => JSON.stringify(render.cards) === JSON.stringify(both(line)));
    return { component, shows };
  }

  const nameOf = (test: string) => `${generation.version.replaceAll(/\W/g, "-")}-${test}`;

  test("two children show their progress side by side, and a second tab gets the same", async () => {
    const first = await mount(nameOf("live"));
    first.component.current.agent.send(REQUEST);
    await first.shows("Helper running: first half, ");
    const second = await mount(nameOf("live"));
    await second.shows("Helper running: first half, ");
    await fetch(`${server.url}/go-on`);
    for (const tab of [first, second]) await tab.shows("Helper completed: first half, second half");
    const later = await mount(nameOf("live"));
    await later.shows("Helper completed: first half, second half");
  });

  test("a kill of the server costs no child: the hook shows one run per call, and its end", async () => {
    const { component, shows } = await mount(nameOf("kill"));
    component.current.agent.send(REQUEST);
    await shows("Helper running: first half, ");
    await server.kill();
    await server.start();
    await fetch(`${server.url}/go-on`);
    await component.renders.find(({ cards: shown }) =>
      Object.values(shown).every((line) => /^Helper completed: .*second half$/.test(line))
    );
    expect(Object.keys(component.current.tools.runsById)).toHaveLength(2);
    const fresh = await mount(nameOf("kill"));
    await fresh.shows("Helper completed: first half, second half");
  });
});
