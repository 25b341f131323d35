// An agent with a conversation that has something of everything Studio shows.
import { tool, type LanguageModel, type UIMessage } from "ai";
import { z } from "zod";
import {
  action,
  agentTool,
  createCompactFunction,
  Think,
  type ActionSet,
  type ApprovalCaller,
  type Session
} from "everthink";
import type { Connection, ConnectionContext } from "everthink/agent";
import {
  createTestHost,
  reply,
  scriptedModel,
  stall,
  text,
  toolCall,
  usage,
  waitFor,
  type RecordedCall,
  type TestHost
} from "everthink/testing";
import { KEY } from "./studio-stage.ts";

export const HOSTILE = `<img src=x onerror=alert(1)><script>alert(2)</script>\u001b[31mred `;
/** More than 5 MB. */
const HOSTILE_COPIES = 85_000;
let deaths = 0;
/** Models and tools take this long while the conversation is made; afterwards they answer at once. */
let now: (() => number) | undefined;
let sleepers: { readonly at: number; readonly wake: () => void }[] = [];

function passing(ms: number): Promise<void> {
  const at = now && now() + ms;
  return at === undefined ? Promise.resolve() : new Promise((wake) => void sleepers.push({ at, wake }));
}

const pause = (ms: number) => waitFor(() => passing(ms));

/** Virtual time passes in small steps, for the agent and for what it waits for. */
async function advance(host: TestHost<unknown>, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 100) {
    await host.advance(100);
    const due = sleepers.filter(({ at }) => at <= host.now);
    sleepers = sleepers.filter(({ at }) => at > host.now);
    for (const { wake } of due) wake();
    await host.idle();
  }
}
const effects: string[] = [];

export class Subject extends Think {
  override getModel(): LanguageModel {
    return scriptedModel((call) => answer(call), { modelId: "gpt-5-mini" });
  }
  override getTools() {
    return {
      look: tool({
        description: "Looks at a place and says how it is.",
        inputSchema: z.object({ at: z.string() }),
        execute: async ({ at }) => {
          await passing(900);
          return at === "hostile" ? HOSTILE.repeat(HOSTILE_COPIES) : `seen ${at}`;
        }
      }),
      research: agentTool(Reader, { description: "Asks a reader.", inputSchema: z.object({ query: z.string() }) })
    };
  }
  override getActions(): ActionSet {
    return {
      pay: action({
        description: "Pays a person.",
        inputSchema: z.object({ euros: z.number() }),
        approval: true,
        kind: "durable-pause",
        approvalSummary: "Pay this sum?",
        approvalRisk: "high",
        execute: async ({ euros }: { euros: number }) => {
          effects.push(`pay ${euros}`);
          return { paid: euros };
        }
      }),
      ship: action({
        description: "Ships a parcel.",
        inputSchema: z.object({ to: z.string() }),
        approval: true,
        approvalSummary: "Ship the parcel?",
        execute: async ({ to }: { to: string }) => `shipped to ${to}`
      })
    };
  }
  /** As a user's page makes it over months: only words, so that it is made quickly. */
  async fill(messages: number) {
    for (let first = 0; first < messages; first += 500) {
      await this.addMessages(Array.from({ length: 500 }, (_, index) => said(first + index)));
    }
  }
  override getPrices() {
    return [{ provider: "openai", model: "gpt-5-mini", input: 1.25, output: 10 }];
  }
  override identifyApprover({ connection }: ApprovalCaller) {
    return (connection?.state as { user?: string } | null | undefined)?.user;
  }
  override onConnect(connection: Connection, { request }: ConnectionContext) {
    connection.setState({ user: new URL(request.url).searchParams.get("user") ?? "" });
  }
  override configureSession(session: Session) {
    return session
      .withContext("persona", { provider: { get: async () => "You are a patient companion at the sea." } })
      .withContext("memory", { description: "What the user likes.", maxTokens: 200 })
      .onCompaction(
        createCompactFunction({
          summarize: async () => "They talked about the sea.",
          protectHead: 1,
          tailTokenBudget: 0
        })
      );
  }
  async prepare() {
    this.configure({ region: "eu", apiKey: "very-secret-value" });
    await this.session.replaceContextBlock("memory", "likes tea");
    await this.workspace.writeFile("/notes.md", "first draft");
    await this.workspace.writeFile("/notes.md", "second draft");
    await this.schedule(3600, "wake", {});
  }
  newestCall(): string | undefined {
    const { parts = [] } = this.messages.at(-1) ?? {};
    return parts.flatMap((part) => ("toolCallId" in part ? [part.toolCallId] : []))[0];
  }
  async compact() {
    await this.session.compact();
  }
  wake() {}
}

export class Reader extends Think {
  override getModel(): LanguageModel {
    return scriptedModel(() =>
      reply(pause(800), text("The tide "), pause(400), text("is high."), usage({ input: 40, output: 6 }))
    );
  }
}

function answer(call: RecordedCall) {
  const prompt = JSON.stringify(call.prompt.filter(({ role }) => role === "user").at(-1) ?? "");
  const last = call.prompt.at(-1);
  const results = last?.role === "tool" ? JSON.stringify(last) : undefined;
  const calls = (toolName: string, input: object, tokens: number) =>
    reply(pause(600), toolCall(toolName, input), pause(200), usage({ input: tokens, output: 12 }));
  const says = (words: string, tokens: number) =>
    reply(pause(500), text(words.slice(0, 6)), pause(700), text(words.slice(6)), usage({ input: tokens, output: 9 }));
  if (deaths < 2 && JSON.stringify(call.prompt).includes("Count to three")) {
    return reply(pause(500), text(["One, ", "two, "][deaths] ?? ""), stall());
  }
  if (results?.includes("seen fog")) return says("In the fork: seen fog.", 90);
  if (results !== undefined) return says(prompt.includes("sea") ? "The sea is blue." : "It is done.", 120);
  if (prompt.includes("How is the sea")) return calls("look", { at: "sea" }, 80);
  if (prompt.includes("hostile")) return calls("look", { at: "hostile" }, 85);
  if (prompt.includes("reader")) return calls("research", { query: "tides" }, 70);
  if (prompt.includes("Ship")) return calls("ship", { to: "Rome" }, 82);
  if (prompt.includes("Pay Ada")) return calls("pay", { euros: 5 }, 75);
  if (prompt.includes("Pay Bob")) return calls("pay", { euros: 7 }, 95);
  return says("three. That was all.", 60);
}

function question(words: string): UIMessage {
  return { id: `u-${words}`, role: "user", parts: [{ type: "text", text: words }] };
}

function said(index: number): UIMessage {
  const role = index % 2 === 0 ? "user" : "assistant";
  return { id: `m${index}`, role, parts: [{ type: "text", text: `Message ${index}: ${"words ".repeat(20)}` }] };
}

/** Another agent of the class: as many messages, and then turns. */
export async function longConversation(host: StudioHost, { messages, turns }: { messages: number; turns: number }) {
  const agent = await host.get(Subject, "long");
  await agent.fill(messages);
  for (let turn = 0; turn < turns; turn += 1) await agent.saveMessages([question(`Question ${turn}`)]);
  await host.idle();
}

export interface StudioHost extends TestHost<{ Subject: DurableObjectNamespace<Subject> }> {
  effects: string[];
}

export async function conversationWithHistory(): Promise<StudioHost> {
  const made = createTestHost({
    agents: { Subject },
    exports: [Reader],
    env: { EVERTHINK_INSPECTION_KEY: KEY },
    now: Date.UTC(2026, 10, 16, 9)
  });
  const host = Object.assign(made, { effects }) as StudioHost;
  now = () => host.now;
  const agent = () => host.get(Subject, "a");
  const say = async (words: string) => {
    const answered = (await agent()).saveMessages([question(words)]);
    answered.catch(() => undefined);
    await advance(host, 6000);
    await answered;
  };
  await (await agent()).prepare();
  await say("How is the sea today?");
  (await agent()).saveMessages([question("Count to three, slowly.")]).catch(() => undefined);
  for (; deaths < 2;) {
    await advance(host, 1500);
    deaths += 1;
    await host.restart();
    await (await agent()).wake();
    await advance(host, 4000);
  }
  await say("Show me something hostile.");
  await say("Ask the reader about tides.");
  await say("Pay Ada five euros.");
  const [pending] = await (await agent()).pendingApprovals();
  await advance(host, 20_000);
  await (await agent()).approveExecution(pending?.executionId ?? "", { by: "Grace" });
  await advance(host, 2000);
  await say("Ship the parcel to Rome.");
  const socket = await host.connect("/agents/subject/a?user=Ada");
  const asked = await (await agent()).newestCall();
  await advance(host, 5000);
  socket.send({ type: "cf_agent_tool_approval", toolCallId: asked, approved: true, autoContinue: true });
  await advance(host, 5000);
  socket.close();
  await (await agent()).compact();
  await say("After the compaction: what else?");
  await say("Pay Bob seven euros.");
  now = undefined;
  return host;
}
