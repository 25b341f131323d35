// The conversation that the crash matrix plays: text, reasoning, an action and a tool in parallel of which one fails, a
// sub-agent as a tool, which has a tool of its own, a client tool, an action behind an approval, one whose approval comes
// after another question, code that calls two tools and waits for a human at the second, structured output, a regeneration
// and a clear. Everything an answer consists of is in the plans.
import { Output, tool, type UIMessage } from "ai";
import { z } from "zod";
import { createExecuteTool } from "../../src/features/execute/index.ts";
import { action, agentTool, Think, type TurnConfig, type TurnContext } from "../../src/index.ts";
import {
  createTestLoader,
  planModel,
  type AnswerPlans,
  type ChaosSession,
  type PromptMessage,
  type Scenario
} from "../../src/testing/index.ts";

/** The second call waits for a human. */
const PRINT = `const pages = await tools.layOut({ tickets: 2 }); await tools.print({ pages })`;

const PLANS: AnswerPlans = {
  "Who are you?": (prompt) => {
    const isSecond = prompt.some(({ role, content }) => role === "system" && content.includes("differently"));
    return [{ text: isSecond ? "Somebody else, and glad to be of help." : "An assistant that nothing can stop." }];
  },
  "Why is the sky blue?": [
    { reasoning: "Light is scattered, and blue most of all.", text: "Because air scatters blue light most." }
  ],
  "Book the trip.": [
    {
      text: "I book both now. ",
      calls: [
        { tool: "bookHotel", input: { city: "Paris" } },
        { tool: "bookTrain", input: { city: "Paris" } }
      ]
    },
    { reasoning: "No train, but a room.", text: "The hotel is booked, the train is full." }
  ],
  "Ask a guide.": [
    { text: "One moment. ", calls: [{ tool: "askGuide", input: { about: "the Louvre" } }] },
    { text: "It is closed on Tuesdays, says the guide." }
  ],
  "Where am I?": [
    { text: "Let me see. ", calls: [{ tool: "locate", input: { precise: true } }] },
    { text: "You are in Rome." }
  ],
  "Pay the bill.": [{ calls: [{ tool: "pay", input: { amount: 12 } }] }, { text: "It is paid." }],
  "Pay the tip.": [{ calls: [{ tool: "pay", input: { amount: 2 } }] }, { text: "Said in place." }],
  // Asked while the tip waits. Its decision is followed by a second answer, below this one.
  "Can it wait?": (prompt) => {
    const later = { text: "Now the tip is paid." };
    if (prompt.some(waits)) return [{ text: "As long as it takes." }];
    const asked = prompt.findLastIndex(
      ({ role, content }) => role === "user" && JSON.stringify(content).includes("Can it wait?")
    );
    const isCalledHere = prompt
      .slice(asked)
      .some(({ role, content }) => role === "assistant" && JSON.stringify(content).includes('"pay"'));
    const call = { calls: [{ tool: "pay", input: { amount: 2 } }] };
    return [{ text: "As long as it takes." }, ...(isCalledHere ? [call] : []), later];
  },
  "Print the tickets.": [{ calls: [{ tool: "execute", input: { code: PRINT } }] }, { text: "They are printed." }],
  "Sum it up as data.": [{ text: JSON.stringify({ city: "Paris", nights: 2, paid: true }) }],
  "Still there?": [{ text: "Always." }]
};

/** The prompt says that a call waits for a decision. */
function waits({ role, content }: PromptMessage): boolean {
  return role === "tool" && JSON.stringify(content).includes("waits for the user's decision");
}

/** What the sub-agent is asked, and does: its own tool is called once, whatever happens to it or to its parent. */
const GUIDE_PLANS: AnswerPlans = {
  [JSON.stringify({ about: "the Louvre" }, null, 2)]: (prompt) => {
    if (prompt.some(isCutOff)) cutOffLookups += 1;
    return [{ text: "I look it up. ", calls: [{ tool: "lookUp", input: {} }] }, { text: "Closed on Tuesdays." }];
  }
};

/** The prompt says that a call did not come to its end. */
function isCutOff({ role, content }: PromptMessage): boolean {
  return role === "tool" && JSON.stringify(content).includes("interrupted");
}

const summary = Output.object({ schema: z.object({ city: z.string(), nights: z.number(), paid: z.boolean() }) });

let counted: Record<string, number> = {};
let boundary = async () => {};
let cutOffLookups = 0;

/** A side effect with an await before and after it, so that a kill can fall on either side. */
async function effect(name: string): Promise<void> {
  await boundary();
  counted[name] = (counted[name] ?? 0) + 1;
  await boundary();
}

export class Guide extends Think {
  override getModel() {
    return planModel(GUIDE_PLANS, { boundary: () => boundary(), pieceLength: 7 });
  }

  override getTools() {
    return {
      lookUp: tool({
        inputSchema: z.object({}),
        execute: async () => {
          await effect("lookUp");
          return { closed: "Tuesday" };
        }
      })
    };
  }
}

/** Counted once per key, as a service counts that is given one: code may make a call again whose record a kill took. */
async function keyedEffect(name: string, options: object): Promise<void> {
  await boundary();
  const key = `${name} ${String(Reflect.get(options, "idempotencyKey"))}`;
  if (!keys.has(key)) counted[name] = (counted[name] ?? 0) + 1;
  keys.add(key);
  await boundary();
}

const keys = new Set<string>();

/** The service knows the key of a call, so both may be made again. */
const repeatable = { onUnknownOutcome: "retry" };

const printing = {
  layOut: Object.assign(
    tool({
      inputSchema: z.object({ tickets: z.number() }),
      execute: async ({ tickets }, options) => {
        await keyedEffect("layOut", options);
        return tickets * 2;
      }
    }),
    repeatable
  ),
  print: Object.assign(
    tool({
      inputSchema: z.object({ pages: z.number() }),
      needsApproval: true,
      execute: async ({ pages }, options) => {
        await keyedEffect("print", options);
        return { printed: pages };
      }
    }),
    repeatable
  )
};

export class Traveller extends Think {
  override getModel() {
    return planModel(PLANS, { boundary: () => boundary(), pieceLength: 7 });
  }

  override getTools() {
    return {
      askGuide: agentTool(Guide, {
        description: "Asks a guide",
        inputSchema: z.object({ about: z.string() })
      }),
      execute: createExecuteTool({ tools: printing, loader: createTestLoader() }),
      bookTrain: tool({
        inputSchema: z.object({ city: z.string() }),
        execute: async ({ city }): Promise<{ booked: string }> => {
          await effect("bookTrain");
          throw new Error(`The train to ${city} is full.`);
        }
      })
    };
  }

  override getActions() {
    return {
      bookHotel: action({
        description: "Books a room",
        inputSchema: z.object({ city: z.string() }),
        idempotencyKey: ({ input }) => `hotel in ${input.city}`,
        execute: async ({ city }) => {
          await effect("bookHotel");
          return { booked: city };
        }
      }),
      pay: action({
        description: "Pays the bill",
        inputSchema: z.object({ amount: z.number() }),
        approval: true,
        execute: async ({ amount }) => {
          await effect("pay");
          return { paid: amount };
        }
      })
    };
  }

  override async beforeTurn({ body, system }: TurnContext): Promise<TurnConfig> {
    await boundary();
    return {
      system: body?.["tone"] === "different" ? `${system} Answer differently.` : system,
      ...(body?.["asData"] === true && { output: summary })
    };
  }
}

/** Approves code that waits, over RPC. Nothing waits where a kill cut the call off before the run was stored. */
async function approveRun(session: ChaosSession): Promise<void> {
  const paused = pausedRuns(session.messages);
  await session.step({
    name: "approve the code",
    send: (client) => {
      for (const id of paused) client.send({ type: "rpc", id, method: "approveExecution", args: [id] });
    },
    isReached: ({ messages }) => pausedRuns(messages).length === 0
  });
}

function pausedRuns(messages: readonly UIMessage[]): string[] {
  const outputs = messages.flatMap(({ parts }) => parts.map((part): unknown => Reflect.get(part, "output")));
  return outputs.flatMap((output) => {
    const { status, executionId } = (output ?? {}) as { status?: string; executionId?: string };
    return status === "paused" && executionId !== undefined ? [executionId] : [];
  });
}

const locate = { name: "locate", description: "Where the user is", parameters: { type: "object" } };

async function conversation(session: ChaosSession): Promise<void> {
  await session.ask("Who are you?");
  await session.ask("Why is the sky blue?");
  await session.ask("Book the trip.");
  await session.ask("Ask a guide.");
  await session.ask("Where am I?", { clientTools: [locate] });
  await session.answer({ tool: "locate", output: { city: "Rome" } });
  await session.ask("Pay the bill.");
  await session.approve("pay");
  await session.ask("Pay the tip.");
  await session.ask("Can it wait?");
  await session.approve("pay");
  await session.ask("Print the tickets.");
  await approveRun(session);
  await session.ask("Sum it up as data.", { asData: true });
  await session.ask("Who are you?");
  await session.regenerate({ tone: "different" });
  await session.clear();
  await session.ask("Still there?");
}

/** The whole scenario: hand it to `chaos()`. */
export const trip: Scenario = {
  agent: Traveller,
  exports: [Guide],
  conversation,
  begin: (run) => {
    counted = {};
    cutOffLookups = 0;
    keys.clear();
    boundary = run.boundary;
  },
  // A look-up that the sub-agent's model saw as cut off may not have happened; one that was not must have, once.
  effects: () => ({ ...counted, lookUp: counted["lookUp"] ?? Math.min(1, cutOffLookups) })
};
