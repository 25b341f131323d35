import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { numbers, requestFrame, seqs, TestChat, user, type Frame, type TestSocket } from "./chat-kit.test-support.ts";
import { ClientModel, type ClientTraits } from "./client-model.test-support.ts";

// Hundreds of conversations, each with many turns of the real engine.
vi.setConfig({ testTimeout: 60_000 });

const isChunk = (frame: Frame) => frame.type === "cf_agent_use_chat_response" && typeof frame.seq === "number";

describe("any-offset resume", () => {
  /** What happens between two chunks on the socket under test. */
  const step = fc.constantFrom("nothing", "connect", "ask", "acknowledge", "drop");

  test("whenever a client connects, asks or acknowledges, it has every chunk once and in order", async () => {
    const property = fc.asyncProperty(fc.array(step, { maxLength: 24 }), fc.boolean(), async (steps, continuation) => {
      const chat = new TestChat();
      if (continuation) await continueAfterTool(chat);
      else chat.submit(chat.tab(), "r1");
      let total = 0;
      chat.engine.listen({ chunk: () => (total += 1) });
      const { requestId } = await chat.start();
      let socket: TestSocket | undefined;
      for (const [index, action] of steps.entries()) {
        if (action === "connect" || (action !== "nothing" && action !== "drop")) socket ??= chat.connect();
        if (socket && action === "ask") chat.ask(socket, `p${index}`);
        if (socket && action === "acknowledge") chat.acknowledge(socket, requestId);
        if (socket && action === "drop") {
          chat.close(socket);
          socket = undefined;
        }
        await chat.text(`${index}`);
      }
      socket ??= chat.connect();
      chat.acknowledge(socket, requestId);
      await chat.text("end");
      await chat.finish();
      expect(total).toBeGreaterThan(steps.length);
      expectOneStream(socket.frames, total);
    });
    await fc.assert(property);
  });

  test("an acknowledgement between any two chunks gives the same bodies as receiving them live", async () => {
    const total = 12;
    for (const offset of numbers(total + 1)) {
      const chat = new TestChat();
      const live = chat.tab();
      chat.submit(live, "r1");
      await chat.start();
      const late = chat.connect();
      for (const index of numbers(total)) {
        if (index === offset) chat.acknowledge(late, "r1");
        await chat.text(`${index}`);
      }
      if (offset === total) chat.acknowledge(late, "r1");
      const bodies = (socket: TestSocket) => socket.frames.filter(isChunk).map(({ body, seq }) => [seq, body]);
      expect(bodies(late)).toEqual(bodies(live));
      expect(bodies(late).length).toBeGreaterThan(total);
    }
  });
});

/** After the last replay: 0, 1, 2 … without gap or repetition; before an acknowledgement: nothing live. */
function expectOneStream(frames: readonly Frame[], total: number): void {
  const lastStart = frames.findLastIndex((frame) => frame.replay === true && frame.seq === 0);
  expect(seqs(frames.slice(lastStart))).toEqual(numbers(total));
  const firstReplay = frames.findIndex((frame) => frame.replay === true);
  expect(frames.slice(0, firstReplay).filter(isChunk)).toEqual([]);
  expect(frames.filter((frame) => frame.done === true)).toHaveLength(1);
}

async function continueAfterTool(chat: TestChat): Promise<void> {
  const a = chat.tab();
  chat.submit(a, "r0");
  await chat.start();
  await chat.call("c");
  await chat.finish();
  chat.receive(a, { type: "cf_agent_tool_result", toolCallId: "c", toolName: "ask", output: 1, autoContinue: true });
}

describe("duplicated and reordered inbound frames", () => {
  const frames: Frame[] = [
    requestFrame("r1", { messages: [user("u1")] }),
    requestFrame("r2", { messages: [user("u1")] }),
    requestFrame("bad", "{"),
    { type: "cf_agent_tool_result", toolCallId: "c1", output: 1, autoContinue: true },
    { type: "cf_agent_tool_result", toolCallId: "c2", output: 2, autoContinue: true },
    { type: "cf_agent_tool_approval", toolCallId: "c3", approved: true, autoContinue: true },
    { type: "cf_agent_chat_request_cancel", id: "unknown" },
    { type: "cf_agent_chat_messages", messages: [user("forged")] },
    { type: "cf_agent_stream_resume_request", probeId: "p" },
    { type: "cf_agent_stream_resume_ack", id: "unknown" }
  ];
  const copies = fc.array(fc.integer({ min: 1, max: 3 }), { minLength: frames.length, maxLength: frames.length });
  const delivery = copies.chain((counts) => {
    const delivered = frames.flatMap((frame, index) => Array.from({ length: counts[index] ?? 1 }, () => frame));
    return fc.shuffledSubarray(delivered, { minLength: delivered.length });
  });

  test("each takes effect once, and every request has one live end", async () => {
    vi.spyOn(console, "warn").mockImplementation(() => undefined);
    const property = fc.asyncProperty(delivery, async (delivered) => {
      const chat = new TestChat();
      const a = chat.tab();
      chat.submit(a, "r0");
      await chat.start();
      await chat.call("c1");
      await chat.call("c2");
      await chat.call("c3", "approval");
      await chat.finish();
      const asking = chat.path.at(-1)?.id;
      for (const frame of delivered) chat.receive(a, frame);
      while (chat.engine.waiting()) await chat.answer();
      const admitted = chat.accepted.map(({ requestId, trigger }) => (trigger === "ws-chat" ? requestId : "go-on"));
      expect(admitted.toSorted()).toEqual(["go-on", "r0", "r1", "r2"]);
      const messages = chat.path.filter(({ role }) => role === "user");
      expect(messages).toEqual([user("u-r0"), user("u1")]);
      const calls = chat.path.find(({ id }) => id === asking)?.parts.filter(({ type }) => type.startsWith("tool-"));
      expect(calls?.slice(0, 3)).toMatchObject([{ output: 1 }, { output: 2 }, { output: "done" }]);
      const ends = a.frames.filter((frame) => frame.done === true && !frame.replay).map(({ id }) => id);
      expect(new Set(ends).size).toBe(ends.length);
      const answers = a.frames.filter((frame) => frame.probeId === "p");
      expect(answers).toHaveLength(delivered.filter(({ type }) => type.endsWith("resume_request")).length);
    });
    await fc.assert(property);
    vi.restoreAllMocks();
  });
});

describe("the documented clients", () => {
  const traits = fc.record<ClientTraits>({ acknowledges: fc.boolean(), appendsContinuations: fc.boolean() });
  const tab = fc.nat({ max: 3 });
  const action = fc.oneof(
    { weight: 8, arbitrary: fc.record({ do: fc.constantFrom("submit", "regenerate", "stop"), tab }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("clear", "close"), tab }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant("open"), traits }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("answer-tool", "serve", "pause", "note") }) },
    { weight: 8, arbitrary: fc.record({ do: fc.constantFrom("start", "text", "call", "settle", "fail", "finish") }) }
  );
  type Action = { do: string; tab?: number; traits?: ClientTraits };

  test.each(["queue", "latest", "drop"] as const)(
    "show the stored list in every tab after anything, under %s",
    async (policy) => {
      vi.spyOn(console, "warn").mockImplementation(() => undefined);
      const property = fc.asyncProperty(
        fc.array(traits, { minLength: 1, maxLength: 3 }),
        fc.array(action, { maxLength: 40, size: "max" }),
        async (first, actions) => {
          const play = new Play(policy, first);
          for (const [index, next] of actions.entries()) await play.act(next, index);
          await play.finish();
          const stored = play.chat.engine.transcript();
          for (const client of play.clients) expect(client.messages).toEqual(stored);
        }
      );
      await fc.assert(property, { numRuns: 150 });
      vi.restoreAllMocks();
    }
  );

  class Play {
    readonly chat = new TestChat();
    clients: ClientModel[];
    #calls = 0;

    constructor(policy: "queue" | "latest" | "drop", first: readonly ClientTraits[]) {
      this.chat.concurrency = policy;
      this.clients = first.map((one) => new ClientModel(this.chat, one));
    }

    async act(next: Action, index: number): Promise<void> {
      if (MODEL_ACTIONS.has(next.do)) return this.#actAsModel(next.do, index);
      this.#actAsClient(next, index);
      await this.chat.idle();
    }

    #actAsClient({ do: what, tab: at = 0, traits: given }: Action, index: number): void {
      const { engine } = this.chat;
      const client = this.clients[at % Math.max(1, this.clients.length)];
      switch (what) {
        case "open":
          if (given) this.clients.push(new ClientModel(this.chat, given));
          return;
        case "close":
          if (client && this.clients.length > 1) this.#close(client);
          return;
        case "submit":
          return client?.submit(`r${index}`);
        case "regenerate":
          return engine.isBusy() ? undefined : client?.regenerate(`r${index}`);
        case "stop": {
          const running = engine.streaming() ?? engine.waiting();
          return running?.trigger === "ws-chat" ? client?.stop(running.requestId) : undefined;
        }
        case "clear":
          return client?.clear();
        case "answer-tool":
          return this.#calls > 0 ? this.clients[0]?.answer(`c${this.#calls}`) : undefined;
        case "serve":
          return void engine.admit({ requestId: `s${index}`, trigger: "programmatic", input: [user(`task${index}`)] });
        case "pause":
          this.chat.now += 10_000;
      }
    }

    async #actAsModel(what: string, index: number): Promise<void> {
      const { engine } = this.chat;
      if (what === "finish") return this.finish();
      if (what === "fail") return engine.isBusy() ? this.chat.fail() : undefined;
      if (what === "start") return void (engine.isBusy() && (await this.#start()));
      if (!engine.streaming()) return;
      if (what === "text") return this.chat.text(`w${index}`);
      // A tool adds a message: it is not announced before the turn ends.
      if (what === "note") return this.chat.store(user(`note${index}`));
      if (what === "settle") return this.chat.finish();
      this.#calls += 1;
      await this.chat.call(`c${this.#calls}`);
    }

    async finish(): Promise<void> {
      while (this.chat.engine.isBusy()) {
        if (!(await this.#start())) continue;
        await this.chat.text("end");
        await this.chat.finish();
      }
    }

    /** False when the last open turn ended on the way. */
    async #start(): Promise<boolean> {
      if (this.chat.engine.streaming()) return true;
      return (await this.chat.tryStart()) !== undefined;
    }

    #close(client: ClientModel): void {
      this.chat.close(client.socket);
      this.clients = this.clients.filter((other) => other !== client);
    }
  }
});

/** What the model or a tool does; the rest is done by clients and the server's own code. */
const MODEL_ACTIONS = new Set(["start", "text", "call", "settle", "fail", "finish", "note"]);
