// The outbox under every kind of broken connection. The server is a model: it handles the frames of a connection in
// their order, takes each command once, and may lose any rest of what was sent to it or of what it says.
import type { UIMessage } from "ai";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createThinkClient, type ThinkClient } from "../../src/client/index.ts";
import { ManualTimers } from "../../src/client/manual-timers.test-support.ts";
import { textOf, user } from "../kit/messages.ts";

type Fields = Record<string, unknown>;

const CALLS = ["c1", "c2", "c3", "c4"];

/** An answer with calls that wait: half of them for an approval, half for the result of a client tool. */
const asking = (settled: ReadonlySet<string>): UIMessage => ({
  id: "a0",
  role: "assistant",
  parts: CALLS.map((id, index) => {
    const call = { type: "tool-x" as const, toolCallId: id, input: {} };
    if (settled.has(id)) return { ...call, state: "output-available" as const, output: 1 };
    return index < 2
      ? { ...call, state: "approval-requested" as const, approval: { id } }
      : { ...call, state: "input-available" as const };
  })
});

class ModelServer {
  readonly timers = new ManualTimers();
  /** Every command that was taken, in order, as `kind id`. */
  readonly taken: string[] = [];
  /** A clear was given and has not been taken yet. */
  isClearDue = false;
  /** What others asked since, and no clear may take away. */
  safe: string[] = [];
  readonly #settled = new Set<string>();
  #messages: UIMessage[] | undefined;
  #socket: ModelSocket | undefined;

  /** Handles the next frames of the connection; all of its own frames reach the client, or none of the last ones. */
  deliver(count: number, isAnswered = true): void {
    const socket = this.#socket;
    if (socket === undefined) return;
    for (let left = Math.min(count, 100); left > 0; left -= 1) {
      const text = socket.wire.shift();
      if (text === undefined) return;
      this.#handle(JSON.parse(text) as Fields, isAnswered ? socket : undefined);
    }
  }

  cut(): void {
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.onclose?.({ code: 1006, reason: "" } as never);
  }

  /** The pause of the client is over, and it gets through. */
  connect(): void {
    if (!this.#socket) this.timers.advance(10_000);
  }

  open(socket: ModelSocket): void {
    this.#socket = socket;
    socket.onopen?.({} as never);
    this.#say("cf_agent_chat_messages", { messages: this.transcript, connect: true });
  }

  /** Another client asks something. */
  otherAsks(text: string): void {
    if (!this.isClearDue) this.safe.push(text);
    this.#messages = [...this.transcript, user(text)];
    this.#say("cf_agent_chat_messages", { messages: this.transcript });
  }

  /** What was asked, as it is stored. */
  get asked(): string[] {
    return this.transcript.filter(({ role }) => role === "user").map(textOf);
  }

  get transcript(): UIMessage[] {
    return this.#messages ?? [asking(this.#settled)];
  }

  #say(type: string, fields: Fields, socket = this.#socket): void {
    socket?.onmessage?.({ data: JSON.stringify({ type, ...fields }) } as never);
  }

  #take(command: string): boolean {
    if (this.taken.includes(command)) return false;
    this.taken.push(command);
    return true;
  }

  #handle(frame: Fields, receiver: ModelSocket | undefined): void {
    const say = (type: string, fields: Fields) => receiver && this.#say(type, fields, receiver);
    const { id, toolCallId } = frame as Record<string, string>;
    switch (frame["type"]) {
      case "cf_agent_use_chat_request": {
        const body = JSON.parse(String((frame["init"] as Fields)["body"])) as { messages: UIMessage[] };
        const [message] = body.messages;
        if (message && this.#take(`ask ${textOf(message)}`)) this.#messages = [...this.transcript, message];
        return say("cf_agent_use_chat_response", { id, body: "", done: true, outcome: "completed" });
      }
      case "cf_agent_tool_result":
      case "cf_agent_tool_approval":
        if (this.#take(`answer ${toolCallId}`)) this.#settled.add(String(toolCallId));
        this.#messages = this.#messages?.map((message) => (message.id === "a0" ? asking(this.#settled) : message));
        return say("cf_agent_message_updated", { message: asking(this.#settled) });
      case "cf_agent_chat_clear":
        this.taken.push("clear");
        this.isClearDue = this.#socket?.wire.some((text) => text.includes("cf_agent_chat_clear")) ?? false;
        this.#messages = [];
        return;
      case "cf_agent_chat_request_cancel":
        return;
      case "cf_agent_stream_resume_request":
        return say("cf_agent_stream_resume_none", { reason: "idle", probeId: frame["probeId"] });
      case "cf_agent_stream_resume_ack":
        return say("cf_agent_use_chat_response", { id, body: "", done: true, replay: true, outcome: "completed" });
      case "cf_agent_state":
        return void this.#take(`state ${String(frame["state"])}`);
      case "rpc":
        this.#take(`${String(frame["method"])} ${String((frame["args"] as unknown[])[0])}`);
        return say("rpc", { id, success: true, done: true, result: null });
    }
  }
}

class ModelSocket {
  onopen: ((event: never) => unknown) | null = null;
  onmessage: ((event: never) => unknown) | null = null;
  onclose: ((event: never) => unknown) | null = null;
  onerror: ((event: never) => unknown) | null = null;
  readonly wire: string[] = [];
  send(text: string): void {
    this.wire.push(text);
  }
  close(): void {
    this.wire.length = 0;
  }
}

function stage() {
  const server = new ModelServer();
  const client = createThinkClient({
    url: "http://x/agents/a/b",
    autoConnect: false,
    timers: server.timers,
    random: () => 1,
    fetch: async () => Response.json(server.transcript),
    WebSocket: class extends ModelSocket {
      constructor() {
        super();
        // As soon as the client listens.
        server.timers.after(0, () => server.open(this));
      }
    }
  });
  client.connect();
  server.connect();
  server.deliver(Infinity);
  return { server, client };
}

type Act = "ask" | "answer" | "call" | "choose" | "state" | "clear";

/** What a person does; returns what the server will know it as. */
function act(client: ThinkClient, kind: Act, number: number): string {
  switch (kind) {
    case "ask":
      void client.send(String(number));
      return `ask ${number}`;
    case "answer": {
      const { pendingApprovals, pendingToolCalls } = client.getSnapshot();
      const [approval] = pendingApprovals;
      const [call] = pendingToolCalls;
      if (approval) void client.approve(approval.callId);
      else if (call) void client.answerTool(call.callId, 1);
      else return "";
      return `answer ${approval?.callId ?? call?.callId}`;
    }
    case "call":
      client.call("method", [number]).catch(() => undefined);
      return `method ${number}`;
    case "choose":
      client.selectBranch(String(number)).catch(() => undefined);
      return `selectBranch ${number}`;
    case "state":
      client.setState(number);
      return `state ${number}`;
    case "clear":
      void client.clear();
      return "clear";
  }
}

const acts = fc.constantFrom<Act>("ask", "answer", "call", "choose", "state");
type Step = Act | "other" | "cut" | "connect" | { readonly deliver: number; readonly isAnswered: boolean };

const network = fc.oneof(
  fc.record({ deliver: fc.nat(3), isAnswered: fc.boolean() }),
  fc.constantFrom<"cut" | "connect">("cut", "connect")
);

async function play(steps: readonly Step[]) {
  const { server, client } = stage();
  const done: string[] = [];
  for (const [number, step] of steps.entries()) {
    if (typeof step === "object") {
      server.deliver(step.deliver, step.isAnswered);
      // What the server said was lost, and so is the connection.
      if (!step.isAnswered && step.deliver > 0) server.cut();
    } else if (step === "cut") server.cut();
    else if (step === "other") server.otherAsks(`other ${number}`);
    else if (step === "connect") server.connect();
    else {
      if (step === "clear") Object.assign(server, { isClearDue: true, safe: [] });
      done.push(act(client, step, number));
    }
  }
  for (let round = 0; round < 3; round += 1) {
    server.connect();
    server.deliver(Infinity);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return { server, client, done: done.filter((command) => command !== "") };
}

/** A call may be lost with its connection, and a state may be overtaken by a newer one. */
const mayBeMissing = (command: string) => /^(method|state)/.test(command);

test("whatever breaks, commands arrive in the order they were given, and none that can be repeated is lost", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(acts, network), { maxLength: 25 }), async (steps) => {
      const { server, done } = await play(steps);
      expect(server.taken).toEqual(done.filter((command) => server.taken.includes(command)));
      expect(done.filter((command) => !server.taken.includes(command) && !mayBeMissing(command))).toEqual([]);
    }),
    { numRuns: Number(process.env["RUNS"] ?? 500) }
  );
});

test("a clear empties what was there when it was given, once, and takes nothing away that was asked later", async () => {
  const steps = fc.array(fc.oneof(fc.constantFrom<Step>("ask", "clear", "other"), network), { maxLength: 25 });
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      const { server, client, done } = await play(all);
      const own = (list: readonly string[]) => list.filter((text) => !text.startsWith("other"));
      const afterClear = done.slice(done.lastIndexOf("clear") + 1).map((command) => command.replace("ask ", ""));
      expect(own(server.asked)).toEqual(afterClear);
      const clears = (list: readonly string[]) => list.filter((command) => command === "clear").length;
      expect(clears(server.taken)).toBeLessThanOrEqual(clears(done));
      expect(server.asked.filter((text) => server.safe.includes(text))).toEqual(server.safe);
      expect(
        client
          .getSnapshot()
          .messages.filter(({ role }) => role === "user")
          .map(textOf)
      ).toEqual(server.asked);
    }),
    { numRuns: Number(process.env["RUNS"] ?? 500) }
  );
});
