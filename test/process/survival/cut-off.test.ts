// The platform repeats an alarm that the end of the process cut off as soon as it is back. An agent must not be slower:
// its heartbeat (30 s) is for work that the platform knows nothing about.
import { expect, test } from "vitest";
import { EventLog } from "../clients/event-log.ts";
import { startWorker } from "../workerd-process.ts";

const PROMPT_MS = 10_000;

test.each(["parent", "child"])(
  "a callback of the %s that a kill cut off runs again at once, not at the next heartbeat",
  async (name) => {
    const output = new EventLog<string>(PROMPT_MS);
    const entry = new URL("./cut-off-worker.ts", import.meta.url);
    const server = await startWorker({ entry, objects: ["Parent"], onOutput: output.add });
    const began = (text: string) => text.includes(`began ${name}.`);
    await fetch(`${server.url}/agents/parent/parent/${name}`);
    await output.find((text) => text.includes(`under way ${name}.`));
    await server.kill();
    const from = output.events.length;
    await server.start();
    // No client calls the agent: only its alarm can start it.
    await output.find(began, from);
    await output.find((text) => text.includes(`ended ${name}.`), from);
    expect(output.events.slice(from).filter(began)).toHaveLength(1);
    await server.stop();
  }
);
