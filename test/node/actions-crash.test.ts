// Killed at each of its writes and awaits, an agent with actions does what people agreed to: an effect with a key of its
// own happens exactly once under that key, one without a key never happens twice, and what people decided is carried
// out. Effects are counted outside the process; the world dedupes by the key, as the key promises.
import { isDeepStrictEqual } from "node:util";
import { beforeEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { action, type ActionSet } from "../../src/index.ts";
import { everyCrash, reply, stall, text, toolCall, type RecordedCall } from "../../src/testing/index.ts";
import { agentOf, Clerk, connect, effect, eventsOf, open, scene, stored, waiting, type Host } from "./actions-kit.ts";
import { ask } from "../kit/frames.ts";
import { textOf, toolParts } from "../kit/messages.ts";
import { promptOf } from "../kit/prompts.ts";
import { DAY_MS } from "../kit/time.ts";

/** Longer than the lease of a row that a crash left pending, and than every pause between attempts. */
const LEASE_OVER_MS = 301_000;

// Every crash is reported by the calls that it cut off.
beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});

/** An effect in the world, and a moment in which the process can die before it is recorded. */
async function happens(what: string): Promise<void> {
  effect(what);
  await stage?.boundary();
}

let stage: Host | undefined;

interface Scenario {
  readonly actions: ActionSet;
  readonly step: (call: RecordedCall) => ReturnType<typeof reply>;
  /** Up to the point from where it is killed. */
  readonly before?: (host: Host) => Promise<unknown>;
  readonly script: (host: Host) => Promise<unknown>;
  /** What a person does who does not know of the crash. */
  readonly finish: (host: Host) => Promise<unknown>;
  readonly inspect: (host: Host) => Promise<unknown>;
}

async function killEverywhere({ actions, step, before, script, finish, inspect }: Scenario): Promise<unknown> {
  const outcomes: unknown[] = [];
  const { points } = await everyCrash({
    create: async () => {
      const host = open(Array(30).fill(step), actions);
      stage = host;
      await agentOf(host);
      await before?.(host);
      return host;
    },
    script,
    finish: async (host) => {
      await host.advance(LEASE_OVER_MS);
      await finish(host);
      await host.advance(LEASE_OVER_MS);
    },
    inspect: async (host) => {
      const outcome = await inspect(host);
      outcomes.push(outcome);
      return outcome;
    },
    points: "both"
  });
  expect(points).toBeGreaterThan(0);
  return outcomes[0];
}

async function askOnce(host: Host, id: string): Promise<void> {
  const known = await stored(host);
  if (!known.some((message) => message.id === `u-${id}`)) ask(await connect(host), id);
  await host.idle();
}

async function approveAll(host: Host): Promise<void> {
  const agent = await agentOf(host);
  for (const { executionId } of await waiting(host)) await agent.approveExecution(executionId, { by: "ann" });
  await host.idle();
}

/** A call of its own for each step, as providers make them. */
const call = (recorded: RecordedCall, name: string, input: object) =>
  reply(toolCall(name, input, { id: `call-${recorded.number}` }));

const lastText = async (host: Host) => textOf((await stored(host)).at(-1));

/** Effects that were begun, as the books have them, against those the world saw. */
function isBooked(host: Host): boolean {
  const [row] = host.sql<{ begun: number }>(Clerk, "a", "SELECT SUM(attempt) AS begun FROM cf_action_ledger");
  return (
    scene.effects.length <= (row?.begun ?? 0) && scene.effects.length <= 1 + eventsOf("action:ledger:reclaimed").length
  );
}

const charge = action({
  description: "Charge.",
  inputSchema: z.object({ invoiceId: z.string() }),
  idempotencyKey: ({ input }) => input.invoiceId,
  execute: async ({ invoiceId }, ctx) => {
    await happens(invoiceId);
    ctx.attachReply({ type: "card", invoiceId });
    return { charged: invoiceId };
  }
});

const statuses = (host: Host) => host.sql(Clerk, "a", "SELECT key, status FROM cf_action_ledger ORDER BY id");

test("an effect with a key of its own happens once under that key, and is in the end known to the model", async () => {
  const outcome = await killEverywhere({
    actions: { charge },
    step: (recorded) => {
      const prompt = promptOf(recorded);
      if (prompt.includes('"charged"')) return reply(text("Charged."));
      if (prompt.includes("ActionPendingError") && !prompt.includes("u-r2")) return reply(text("Not known yet."));
      return call(recorded, "charge", { invoiceId: "i1" });
    },
    script: (host) => askOnce(host, "r1"),
    finish: async (host) => {
      await askOnce(host, "r1");
      await host.advance(LEASE_OVER_MS);
      await askOnce(host, "r2");
    },
    inspect: async (host) => ({
      said: await lastText(host),
      ledger: statuses(host),
      world: [...new Set(scene.effects)],
      isBooked: isBooked(host),
      attached: attachedOnce()
    })
  });
  expect(outcome).toEqual({
    said: "Charged.",
    ledger: [{ key: "action:charge:i1", status: "settled" }],
    world: ["i1"],
    isBooked: true,
    attached: 1
  });
});

/** Attachments over all turns; a turn may be reported more than once. */
function attachedOnce(): number {
  const turns = new Map(scene.responses.map(({ requestId, attachments }) => [requestId, attachments?.length ?? 0]));
  return [...turns.values()].reduce((sum, count) => sum + count, 0);
}

const send = action({
  description: "Send.",
  inputSchema: z.object({}),
  execute: async () => {
    await happens("send");
    return "it was sent";
  }
});

test("an effect without a key never happens twice, and what the books know the model is told", async () => {
  const outcome = await killEverywhere({
    actions: { send },
    // A model that does not try again what may have happened.
    step: (recorded) =>
      recorded.prompt.some(({ role }) => role === "tool") ? reply(text("Over.")) : call(recorded, "send", {}),
    script: (host) => askOnce(host, "r1"),
    finish: (host) => askOnce(host, "r1"),
    inspect: async (host) => {
      const [part] = toolParts(await stored(host));
      const [row] = host.sql<{ status: string }>(Clerk, "a", "SELECT status FROM cf_action_ledger");
      return {
        said: await lastText(host),
        isAtMostOnce: scene.effects.length <= 1,
        // Settled in the books, so the model reads the result; not settled, so it reads that the outcome is unknown.
        isReported: row?.status === "settled" ? part?.output === "it was sent" : part?.state === "output-error"
      };
    }
  });
  expect(outcome).toEqual({ said: "Over.", isAtMostOnce: true, isReported: true });
});

const deploy = (idempotencyKey?: string) =>
  action({
    description: "Deploy.",
    inputSchema: z.object({ ref: z.string() }),
    kind: "durable-pause",
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    execute: async ({ ref }) => {
      await happens(ref);
      return { deployed: ref };
    }
  });

const deploying = (recorded: RecordedCall) => {
  const prompt = promptOf(recorded);
  if (prompt.includes('"deployed"')) return reply(text("It is out."));
  if (/ActionPendingError|not pending|rejected/.test(prompt)) return reply(text("Not out."));
  return prompt.includes('"paused"') ? reply(text("Waiting.")) : call(recorded, "deploy", { ref: "main" });
};

const isOpen = async (host: Host) =>
  toolParts(await stored(host)).some(({ output }) => (output as { status?: string } | undefined)?.status === "paused");

test("parking: what a person is asked after any crash is asked once, and runs once when they agree", async () => {
  const outcome = await killEverywhere({
    actions: { deploy: deploy() },
    step: deploying,
    script: (host) => askOnce(host, "r1"),
    finish: async (host) => {
      await askOnce(host, "r1");
      await host.advance(LEASE_OVER_MS);
      const [question, ...others] = await waiting(host);
      const part = toolParts(await stored(host)).find(
        ({ toolCallId }) => toolCallId === question?.descriptor.toolCallId
      );
      const isDescribed = isDeepStrictEqual(part?.approvalDescriptor, question?.descriptor);
      scene.effects.push(`${others.length} others, ${isDescribed ? "described" : "not described"}`);
      await approveAll(host);
    },
    inspect: async (host) => ({
      said: await lastText(host),
      effects: scene.effects,
      isOpen: await isOpen(host),
      waiting: await waiting(host)
    })
  });
  expect(outcome).toEqual({ said: "It is out.", effects: ["0 others, described", "main"], isOpen: false, waiting: [] });
});

const parkFirst = async (host: Host) => {
  await askOnce(host, "r1");
  scene.responses.length = 0;
};

test("approving an effect with a key of its own: it happens once under that key, and the conversation goes on", async () => {
  const outcome = await killEverywhere({
    actions: { deploy: deploy("main") },
    step: deploying,
    before: parkFirst,
    script: approveAll,
    finish: approveAll,
    inspect: async (host) => ({
      said: await lastText(host),
      world: [...new Set(scene.effects)],
      isBooked: isBooked(host),
      outputs: toolParts(await stored(host)).map(({ output }) => output),
      ledger: host.sql(Clerk, "a", "SELECT status, approver FROM cf_action_ledger"),
      waiting: await waiting(host)
    })
  });
  expect(outcome).toEqual({
    said: "It is out.",
    world: ["main"],
    isBooked: true,
    outputs: [{ deployed: "main" }],
    ledger: [{ status: "settled", approver: "ann" }],
    waiting: []
  });
});

test("approving while the turn that parked it still speaks: its outcome waits for that turn, and is not lost", async () => {
  const outcome = await killEverywhere({
    actions: { deploy: deploy("main") },
    step: (recorded) => (recorded.number === 2 ? reply(text("Wait"), stall()) : deploying(recorded)),
    before: parkFirst,
    script: approveAll,
    finish: async (host) => {
      await approveAll(host);
      await host.restart();
      await host.advance(LEASE_OVER_MS);
    },
    inspect: async (host) => ({
      said: await lastText(host),
      world: [...new Set(scene.effects)],
      outputs: toolParts(await stored(host)).map(({ output }) => output),
      left: host.sql(Clerk, "a", "SELECT key FROM cf_work WHERE settled_at IS NULL")
    })
  });
  expect(outcome).toEqual({ said: "It is out.", world: ["main"], outputs: [{ deployed: "main" }], left: [] });
});

test("approving an effect without a key: never twice, never lost, and the pause is resolved", async () => {
  const outcome = await killEverywhere({
    actions: { deploy: deploy() },
    step: deploying,
    before: parkFirst,
    script: approveAll,
    finish: approveAll,
    inspect: async (host) => {
      const [part] = toolParts(await stored(host));
      const isKnown = JSON.stringify(part?.output).includes("deployed");
      return {
        isAtMostOnce: scene.effects.length <= 1,
        // Not known only where the process died between the effect and its book entry.
        isReported: isKnown ? scene.effects.length === 1 : JSON.stringify(part?.output).includes("ActionPendingError"),
        said: isKnown === (await lastText(host)).includes("It is out."),
        waiting: await waiting(host)
      };
    }
  });
  expect(outcome).toEqual({ isAtMostOnce: true, isReported: true, said: true, waiting: [] });
});

test("rejecting: it never runs, the pause is resolved, and the conversation goes on", async () => {
  const rejectAll = async (host: Host) => {
    const agent = await agentOf(host);
    for (const { executionId } of await waiting(host)) await agent.rejectExecution(executionId, "no");
    await host.idle();
  };
  const outcome = await killEverywhere({
    actions: { deploy: deploy() },
    step: deploying,
    before: parkFirst,
    script: rejectAll,
    finish: rejectAll,
    inspect: async (host) => ({
      said: await lastText(host),
      effects: scene.effects,
      outputs: toolParts(await stored(host)).map(({ output }) => (output as { status: string }).status),
      ledger: host.sql(Clerk, "a", "SELECT status FROM cf_action_ledger"),
      messages: (await stored(host)).length
    })
  });
  expect(outcome).toEqual({
    said: "Not out.",
    effects: [],
    outputs: ["rejected"],
    ledger: [{ status: "refused" }],
    messages: 3
  });
});

test("expiry: nothing runs, the pause says so, and nothing is left to wake for", async () => {
  const outcome = await killEverywhere({
    actions: { deploy: deploy() },
    step: deploying,
    before: parkFirst,
    script: (host) => host.advance(30 * DAY_MS + 60_000),
    finish: (host) => host.advance(31 * DAY_MS),
    inspect: async (host) => ({
      effects: scene.effects,
      outputs: toolParts(await stored(host)).map(({ output }) => (output as { status: string }).status),
      waiting: await waiting(host),
      alarm: host.alarm(Clerk, "a"),
      calls: scene.script.callCount
    })
  });
  expect(outcome).toEqual({ effects: [], outputs: ["expired"], waiting: [], alarm: null, calls: 2 });
});

test("a yes over the socket: the effect never happens twice, and the answer goes on", async () => {
  const gated = action({
    description: "Gated.",
    inputSchema: z.object({}),
    approval: true,
    execute: async () => {
      await happens("gated");
      return "it was done";
    }
  });
  const yes = async (host: Host) => {
    const part = toolParts(await stored(host)).find(({ state }) => state === "approval-requested");
    const socket = await connect(host);
    const { toolCallId } = part ?? { toolCallId: "call-1" };
    socket.send({ type: "cf_agent_tool_approval", toolCallId, approved: true, autoContinue: true });
    await host.advance(1_000);
  };
  const outcome = await killEverywhere({
    actions: { gated },
    step: (recorded) =>
      recorded.prompt.some(({ role }) => role === "tool") ? reply(text("Over.")) : call(recorded, "gated", {}),
    before: parkFirst,
    script: yes,
    finish: yes,
    inspect: async (host) => {
      const [part] = toolParts(await stored(host));
      const [row] = host.sql<{ status: string }>(Clerk, "a", "SELECT status FROM cf_action_ledger");
      return {
        said: await lastText(host),
        isAtMostOnce: scene.effects.length <= 1,
        isReported: row?.status === "settled" ? part?.output === "it was done" : part?.state === "output-error"
      };
    }
  });
  expect(outcome).toEqual({ said: "Over.", isAtMostOnce: true, isReported: true });
});
