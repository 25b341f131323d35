// What the tests of approvals share: everything that asks a person, each as one question that waits, and everything through
// which a person answers.
import { tool } from "ai";
import { z } from "zod";
import { action, Think, type ActionOutput, type ApprovalCaller, type PendingApproval } from "../../src/index.ts";
import { createExecuteTool } from "../../src/features/execute/index.ts";
import { createExtensionTools } from "../../src/features/extensions/tools/index.ts";
import {
  createScript,
  createTestHost,
  createTestLoader,
  reply,
  scriptedModel,
  text,
  toolCall,
  type Script,
  type TestHost
} from "../../src/testing/index.ts";
import { storedMessages, toolParts, user } from "../kit/messages.ts";
import { open as openSupport, scene as supportScene, supportOf } from "./workflow-prompts-kit.ts";
import { Librarian, library, open as openLibrarian, scene as mcpScene, URL_LIBRARY } from "./mcp-kit.ts";
import { Network } from "./client-kit.ts";

/** What outlives the process. */
export const scene: { script: Script; effects: string[] } = { script: createScript([]), effects: [] };

const inputSchema = z.object({ euros: z.number().int(), note: z.string().default("none") });
const done = (how: string) => {
  return ({ euros, note }: { euros: number; note: string }) => {
    scene.effects.push(`${how} ${euros} ${note}`);
    return { done: euros };
  };
};

export class Subject extends Think<{ LOADER: ReturnType<typeof createTestLoader> }> {
  override workspaceTools = false;
  override extensionLoader = this.env.LOADER;

  override getModel() {
    return scriptedModel(scene.script);
  }
  override identifyApprover({ connection, request }: ApprovalCaller) {
    const url = connection === undefined ? request?.url : (connection.state as { url?: string } | null)?.url;
    return new URL(url ?? "http://x").searchParams.get("user") ?? undefined;
  }
  override onConnect(connection: { setState(state: object): unknown }, { request }: { request: Request }) {
    connection.setState({ url: request.url });
  }
  override getTools() {
    const { extensionManager: manager } = this;
    return {
      ship: tool({ inputSchema, needsApproval: true, execute: done("ship") }),
      execute: createExecuteTool(this, {
        tools: { pay: tool({ inputSchema, needsApproval: true, execute: done("code") }) }
      }),
      ...(manager && createExtensionTools({ manager, approval: true }))
    };
  }
  override getActions() {
    const description = "Pays.";
    return {
      refund: action({ description, inputSchema, approval: true, execute: done("refund") }),
      pay: action({ description, inputSchema, kind: "durable-pause", execute: done("pay") })
    };
  }
}

/** One question that waits. */
export interface Opened {
  readonly host: TestHost<object>;
  readonly address: string;
  readonly id: string;
  /** Of a question in an answer, as pages send it. */
  readonly approvalId?: string | undefined;
  readonly network: Network | undefined;
  agent(): Promise<{
    pendingApprovals(id?: string): Promise<PendingApproval[]>;
    approveExecution(id: string, decision?: object): Promise<ActionOutput>;
    rejectExecution(id: string, reason?: string, decision?: object): Promise<ActionOutput>;
  }>;
  /** Side effects of what was approved. */
  effects(): readonly string[];
  /** What the model was told after the decision. */
  told(): string;
}

export interface Source {
  readonly name: string;
  readonly open: () => Promise<Opened>;
  /** Of a changed input; undefined: it cannot be changed. */
  readonly changed?: { readonly input: object; readonly effect: string };
  /** Asked in an answer: a page decides by frames of the chat. */
  readonly isInChat: boolean;
  readonly effect: string;
}

const EXTENSION = {
  name: "greeter",
  version: "1.0.0",
  source: `({ tools: { greet: { description: "g", parameters: {}, execute: () => "hello" } } })`
};

async function asked(name: string, input: object): Promise<Opened> {
  scene.script = createScript([
    reply(toolCall(name, input, { id: "c1" })),
    reply(text("Well.")),
    reply(text("Next.")),
    reply(text("More."))
  ]);
  scene.effects = [];
  const env = { LOADER: createTestLoader() };
  const host = createTestHost({ agents: { Subject }, env });
  await (await host.get(Subject, "a")).saveMessages([user("please")]);
  await host.idle();
  const parts = toolParts(await storedMessages(host, "/agents/subject/a"));
  const output = parts.find(({ toolCallId }) => toolCallId === "c1")?.output as { executionId?: string } | undefined;
  return {
    host,
    address: "/agents/subject/a",
    id: output?.executionId ?? "c1",
    network: new Network(host),
    agent: () => host.get(Subject, "a"),
    effects: () => scene.effects,
    told: () => scene.script.calls.map(({ prompt }) => JSON.stringify(prompt)).join("\n")
  };
}

async function askedByWorkflow(): Promise<Opened> {
  const { host } = openSupport();
  supportScene.approvers = ["ann", "bob"];
  await (await supportOf(host)).start([{ name: "escalate", prompt: "Wake the team?", human: true }], "w");
  await host.idle();
  const [question] = await (await supportOf(host)).pendingApprovals();
  return {
    host,
    address: "/agents/support/a",
    id: question?.executionId ?? "",
    network: undefined,
    agent: () => supportOf(host),
    effects: () => [],
    told: () => ""
  };
}

async function askedByMcp(): Promise<Opened> {
  const lend = reply(toolCall("tool_lib_lend", { book: "Emma" }, { id: "c1" }));
  const host = openLibrarian([lend, reply(text("Here.")), reply(text("More."))]);
  library();
  mcpScene.approval = ({ annotations }) => annotations?.destructiveHint === true;
  const agent = () => host.get(Librarian, "a");
  await (await agent()).add("library", URL_LIBRARY, { id: "lib" });
  await (await agent()).saveMessages([user("lend")]);
  return {
    host,
    address: "/agents/librarian/a",
    id: "c1",
    network: undefined,
    agent,
    effects: () => mcpScene.effects,
    told: () => mcpScene.script.calls.map(({ prompt }) => JSON.stringify(prompt)).join("\n")
  };
}

const changed = (how: string) => ({ input: { euros: 4 }, effect: `${how} 4 none` });

export const SOURCES: readonly Source[] = [
  {
    name: "a tool in the chat",
    open: () => asked("ship", { euros: 5 }),
    changed: changed("ship"),
    isInChat: true,
    effect: "ship 5 none"
  },
  {
    name: "an action in the chat",
    open: () => asked("refund", { euros: 5 }),
    changed: changed("refund"),
    isInChat: true,
    effect: "refund 5 none"
  },
  {
    name: "a parked action",
    open: () => asked("pay", { euros: 5 }),
    changed: changed("pay"),
    isInChat: false,
    effect: "pay 5 none"
  },
  {
    name: "executed code",
    open: () => asked("execute", { code: `await tools.pay({ euros: 5, note: "none" })` }),
    changed: { input: { euros: 4, note: "none" }, effect: "code 4 none" },
    isInChat: false,
    effect: "code 5 none"
  },
  {
    name: "a tool of an MCP server",
    open: askedByMcp,
    changed: { input: { book: "Persuasion" }, effect: "lent Persuasion" },
    isInChat: true,
    effect: "lent Emma"
  },
  { name: "an extension to load", open: () => asked("load_extension", EXTENSION), isInChat: true, effect: "" },
  { name: "a workflow", open: askedByWorkflow, isInChat: false, effect: "" }
];

/** A decision, as it is sent. */
export interface Sent {
  readonly isApproved: boolean;
  readonly reason?: string;
  readonly input?: unknown;
  /** The question that is decided about, as it was shown. */
  readonly question: Pick<PendingApproval, "inputHash" | "seq">;
  readonly user: string;
}

export interface Surface {
  readonly name: string;
  readonly can: (source: Source) => boolean;
  /** Answers an error text, or undefined. */
  decide(opened: Opened, sent: Sent): Promise<string | undefined>;
}

export const SURFACES: readonly Surface[] = [
  {
    name: "a method of the server",
    can: () => true,
    decide: async ({ agent, id }, { isApproved, reason, input, question, user: by }) => {
      const decision = { ...question, by, ...(input !== undefined && { input }) };
      const to = await agent();
      return errorIn(await (isApproved ? to.approveExecution(id, decision) : to.rejectExecution(id, reason, decision)));
    }
  },
  {
    name: "HTTP",
    can: () => true,
    decide: async ({ host, address, id }, { isApproved, reason, input, question, user: name }) => {
      const response = await host.fetch(`${address}/approvals/${id}?user=${name}`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-user": name },
        body: JSON.stringify({ decision: isApproved ? "approve" : "reject", reason, input, ...question })
      });
      return errorIn(((await response.json()) as { output?: unknown }).output);
    }
  },
  {
    name: "a callable",
    can: ({ name }) => name !== "a workflow",
    decide: async ({ host, address, id }, { isApproved, reason, input, question, user: name }) => {
      const socket = await host.connect(`${address}?user=${name}`);
      const decision = { ...question, input };
      const args = isApproved ? [id, decision] : [id, reason ?? null, decision];
      socket.send({ type: "rpc", id: "r", method: isApproved ? "approveExecution" : "rejectExecution", args });
      const answer = await socket.next<{ result?: unknown }>("rpc");
      return errorIn(answer.result);
    }
  },
  {
    name: "a page",
    can: ({ isInChat }) => isInChat,
    decide: async ({ host, address, id, approvalId }, { isApproved: approved, reason, input, user: name }) => {
      const socket = await host.connect(`${address}?user=${name}`);
      const before = socket.frames.length;
      const frame = { type: "cf_agent_tool_approval", toolCallId: id, approved, autoContinue: true };
      socket.send({ ...frame, reason, input, approvalId });
      await host.advance(1_000);
      const refused = socket.frames.slice(before).find((frame) => "code" in (frame as object));
      return (refused as { error?: string } | undefined)?.error;
    }
  },
  {
    name: "the client library",
    can: ({ name }) => name !== "a workflow" && name !== "a tool of an MCP server",
    decide: async ({ network, id }, { isApproved, reason, input, question, user: name }) => {
      const client = network?.client({ query: { user: name } });
      await network?.settle();
      const shown = client
        ?.getSnapshot()
        .pendingApprovals.find(({ callId, executionId = callId }) => executionId === id);
      const of = shown ?? (id.includes("_") ? { executionId: id, ...question } : { callId: id });
      const decided = isApproved ? client?.approve(of, { input }) : client?.reject(of, reason);
      const answer = decided?.then(errorIn, (error: Error) => error.message);
      await network?.settle();
      const error = await answer;
      client?.close();
      return error;
    }
  }
];

function errorIn(output: unknown): string | undefined {
  const { status, error } = (output ?? {}) as { status?: string; error?: string };
  return status === "error" ? error : undefined;
}

/** Opens a source, and reads the question that waits. */
export async function openQuestion(source: Source): Promise<{ opened: Opened; question: PendingApproval }> {
  const opened = await source.open();
  const [question] = await (await opened.agent()).pendingApprovals(opened.id);
  const stored = source.isInChat ? toolParts(await storedMessages(opened.host, opened.address)) : [];
  const approvalId = stored.find(({ toolCallId }) => toolCallId === opened.id)?.approval?.id;
  if (!question) throw new Error(`${source.name} asks nothing.`);
  return { opened: { ...opened, approvalId }, question };
}
