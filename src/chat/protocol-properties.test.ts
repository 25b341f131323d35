import type { UIMessage } from "ai";
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { requestFrame, Scene, seqs, user, type FakeSocket, type Frame } from "./chat-scene.test-support.ts";
import { ClientModel, type ClientTraits } from "./client-model.test-support.ts";

const isChunk = (frame: Frame) => frame.type === "cf_agent_use_chat_response" && typeof frame.seq === "number";

describe("any-offset resume", () => {
  /** What happens between two chunks on the socket under test. */
  const step = fc.constantFrom("nothing", "connect", "ask", "acknowledge", "drop");

  test("whenever a client connects, asks or acknowledges, it has every chunk once and in order", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 24 }), fc.boolean(), (steps, continuation) => {
        const scene = new Scene();
        if (continuation) continueAfterTool(scene);
        else scene.submit(scene.tab(), "r1");
        const { requestId } = scene.turns.start();
        let socket: FakeSocket | undefined;
        for (const [index, action] of steps.entries()) {
          if (action === "connect" || (action !== "nothing" && action !== "drop")) socket ??= scene.connect();
          if (socket && action === "ask") scene.ask(socket, `p${index}`);
          if (socket && action === "acknowledge") scene.acknowledge(socket, requestId);
          if (socket && action === "drop") {
            scene.close(socket);
            socket = undefined;
          }
          scene.turns.chunk({ type: "text-delta", id: "t", delta: `${index}` });
        }
        socket ??= scene.connect();
        scene.acknowledge(socket, requestId);
        scene.turns.text("end");
        scene.turns.settle();
        expectOneStream(socket.frames, steps.length + 4);
      })
    );
  });

  test("an acknowledgement between any two chunks gives the same bodies as hearing them live", () => {
    const total = 12;
    for (let offset = 0; offset <= total; offset += 1) {
      const scene = new Scene();
      const live = scene.tab();
      scene.submit(live, "r1");
      scene.turns.start();
      const late = scene.connect();
      for (let index = 0; index < total; index += 1) {
        if (index === offset) scene.acknowledge(late, "r1");
        scene.turns.chunk({ type: "text-delta", id: "t", delta: `${index}` });
      }
      if (offset === total) scene.acknowledge(late, "r1");
      const bodies = (socket: FakeSocket) => socket.frames.filter(isChunk).map(({ body, seq }) => [seq, body]);
      expect(bodies(late)).toEqual(bodies(live));
    }
  });
});

/** After the last replay: 0, 1, 2 … without gap or repetition; before an acknowledgement: nothing live. */
function expectOneStream(frames: readonly Frame[], total: number): void {
  const lastStart = frames.findLastIndex((frame) => frame.replay === true && frame.seq === 0);
  expect(seqs(frames.slice(lastStart))).toEqual(Array.from({ length: total }, (_, index) => index));
  const firstReplay = frames.findIndex((frame) => frame.replay === true);
  expect(frames.slice(0, firstReplay).filter(isChunk)).toEqual([]);
  expect(frames.filter((frame) => frame.done === true)).toHaveLength(1);
}

function continueAfterTool(scene: Scene): void {
  const a = scene.tab();
  scene.submit(a, "r0");
  scene.turns.start();
  scene.turns.call("c");
  scene.turns.settle();
  scene.receive(a, { type: "cf_agent_tool_result", toolCallId: "c", toolName: "t", output: 1, autoContinue: true });
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

  test("each takes effect once, and every request has one live end", () => {
    vi.spyOn(console, "warn").mockImplementation(() => undefined);
    fc.assert(
      fc.property(delivery, (delivered) => {
        const scene = new Scene();
        const a = scene.tab();
        scene.turns.path = [asking("c1", "c2", "c3")];
        for (const frame of delivered) scene.receive(a, frame);
        while (scene.turns.isBusy()) scene.turns.answer();
        const admitted = scene.turns.admissions.map(({ requestId, trigger }) =>
          trigger === "ws-chat" ? requestId : "go-on"
        );
        expect(admitted.toSorted()).toEqual(["go-on", "r1", "r2"]);
        const messages = scene.turns.path.filter(({ role }) => role === "user");
        expect(messages).toEqual([user("u1")]);
        expect(scene.turns.path.find(({ id }) => id === "asking")?.parts.slice(0, 3)).toMatchObject([
          { output: 1 },
          { output: 2 },
          { state: "approval-responded" }
        ]);
        const ends = a.frames.filter((frame) => frame.done === true && !frame.replay).map(({ id }) => id);
        expect(new Set(ends).size).toBe(ends.length);
        const answers = a.frames.filter((frame) => frame.probeId === "p");
        expect(answers).toHaveLength(delivered.filter(({ type }) => type.endsWith("resume_request")).length);
      })
    );
    vi.restoreAllMocks();
  });
});

/** Two calls of a client's tool, and one that waits for approval. */
function asking(first: string, second: string, approval: string): UIMessage {
  const call = { type: "tool-t" as const, toolName: "t", input: {} };
  const waiting = (toolCallId: string) => {
    return { ...call, toolCallId, state: "input-available" as const, ...{ clientExecuted: true } };
  };
  const asked = { ...call, toolCallId: approval, state: "approval-requested" as const, approval: { id: "a" } };
  return { id: "asking", role: "assistant", parts: [waiting(first), waiting(second), asked] };
}

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
    (policy) => {
      vi.spyOn(console, "warn").mockImplementation(() => undefined);
      fc.assert(
        fc.property(
          fc.array(traits, { minLength: 1, maxLength: 3 }),
          fc.array(action, { maxLength: 40, size: "max" }),
          (first, actions) => {
            const play = new Play(policy, first);
            for (const [index, next] of actions.entries()) play.act(next, index);
            play.finish();
            const stored = play.scene.turns.shown();
            for (const client of play.clients) expect(client.messages).toEqual(stored);
          }
        ),
        { numRuns: 300 }
      );
      vi.restoreAllMocks();
    }
  );

  class Play {
    readonly scene = new Scene();
    clients: ClientModel[];
    #calls = 0;

    constructor(policy: "queue" | "latest" | "drop", first: readonly ClientTraits[]) {
      this.scene.concurrency = policy;
      this.clients = first.map((one) => new ClientModel(this.scene, one));
    }

    act(action: Action, index: number): void {
      const { turns } = this.scene;
      const client = this.clients[(action.tab ?? 0) % Math.max(1, this.clients.length)];
      const isStreaming = turns.streaming() !== undefined;
      switch (action.do) {
        case "open":
          if (action.traits) this.clients.push(new ClientModel(this.scene, action.traits));
          return;
        case "close":
          if (client && this.clients.length > 1) this.#close(client);
          return;
        case "submit":
          return client?.submit(`r${index}`);
        case "regenerate":
          return turns.isBusy() ? undefined : client?.regenerate(`r${index}`);
        case "stop": {
          const running = turns.streaming() ?? turns.waiting();
          return running?.trigger === "ws-chat" ? client?.stop(running.requestId) : undefined;
        }
        case "clear":
          return client?.clear();
        case "answer-tool":
          return this.#calls > 0 ? this.clients[0]?.answer(`c${this.#calls}`) : undefined;
        case "serve":
          return void turns.admit({ requestId: `s${index}`, trigger: "programmatic", input: [user(`task${index}`)] });
        case "note":
          // A tool adds a message: nobody is told before the turn ends.
          return isStreaming ? turns.append(user(`note${index}`)) : undefined;
        case "pause":
          this.scene.now += 10_000;
          return;
        case "start":
          if (turns.isBusy() && !isStreaming) turns.start();
          return;
        case "text":
          return isStreaming ? turns.text(`w${index}`) : undefined;
        case "call":
          return isStreaming ? this.#call() : undefined;
        case "settle":
          return isStreaming ? turns.settle(turns.streaming()?.requestId) : undefined;
        case "finish":
          return this.finish();
        case "fail":
          if (turns.isBusy()) turns.settle(turns.streaming()?.requestId, { status: "error", error: "Sorry." });
      }
    }

    finish(): void {
      while (this.scene.turns.isBusy()) {
        if (!this.scene.turns.streaming()) this.scene.turns.start();
        this.scene.turns.text("end");
        this.scene.turns.settle();
      }
    }

    #call(): void {
      this.#calls += 1;
      const toolCallId = `c${this.#calls}`;
      this.scene.turns.call(toolCallId);
    }

    #close(client: ClientModel): void {
      this.scene.close(client.socket);
      this.clients = this.clients.filter((other) => other !== client);
    }
  }
});
