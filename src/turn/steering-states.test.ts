// The whole of steering as a state machine: three clients, what each may do, and a kill of the process, in every order up to
// a length. After each run every accepted message is in the conversation as often as its receipt says, and no other is.
import { tool } from "ai";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { z } from "zod";
import { reply, text, toolCall, type Steps } from "../testing/model/index.ts";
import { installedModel } from "../testing/model/installed-model.test-support.ts";
import { user, World } from "./engine.test-support.ts";
import type { Receipt } from "./receipts.ts";

vi.setConfig({ testTimeout: 180_000 });
beforeAll(() => {
  for (const name of ["error", "warn"] as const) vi.spyOn(console, name).mockImplementation(() => undefined);
});
afterAll(() => void vi.restoreAllMocks());

const CLIENTS = ["a", "b", "c"] as const;
type Move =
  | { readonly client: (typeof CLIENTS)[number]; readonly does: "steer" | "follow-up" | "edit" | "withdraw" }
  /** The tool that runs has its outcome: the turn comes to a step boundary. */
  | { readonly client: undefined; readonly does: "step" }
  | { readonly client: undefined; readonly does: "kill" };

const MOVES: readonly Move[] = [
  ...CLIENTS.flatMap((client) =>
    (["steer", "follow-up", "edit", "withdraw"] as const).map((does) => ({ client, does }))
  ),
  { client: undefined, does: "step" },
  { client: undefined, does: "kill" }
];

/** A client gives at most one message, and changes only one that it gave. Clients are alike: the first to act is "a". */
function isAllowed(path: readonly Move[], move: Move): boolean {
  if (move.client === undefined) return move.does !== "kill" || path.at(-1)?.does !== "kill";
  const acted = new Set(path.flatMap(({ client }) => client ?? []));
  const isGiving = move.does === "steer" || move.does === "follow-up";
  if (!isGiving)
    return acted.has(move.client) && !path.some((one) => one.client === move.client && one.does === move.does);
  return !acted.has(move.client) && CLIENTS.indexOf(move.client) === acted.size;
}

function* paths(length: number, path: readonly Move[] = []): Generator<readonly Move[]> {
  if (path.length === length) return yield path;
  for (const move of MOVES) if (isAllowed(path, move)) yield* paths(length, [...path, move]);
}

/** Every turn calls the tool once and then answers; a continuation answers. */
function world() {
  let gate = Promise.withResolvers<void>();
  const search = tool({ inputSchema: z.object({}), execute: async () => gate.promise.then(() => "found") });
  let calls = 0;
  const step: Steps = ({ prompt }) => {
    calls += 1;
    return prompt.at(-1)?.role === "tool"
      ? reply(text("done"))
      : reply(text("look "), toolCall("search", {}, { id: `c${calls}` }));
  };
  const model = installedModel(step);
  const w = new World({ tools: { search }, model: () => model });
  return {
    w,
    model,
    /** All tools that run now have their outcome; later ones wait again. */
    step() {
      gate.resolve();
      gate = Promise.withResolvers();
    },
    open: () => void gate.resolve()
  };
}

const quiet = async () => {
  // Everything here is promises: a few turns of the event loop are enough, and nothing waits for time.
  for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => setImmediate(resolve));
};

interface Known {
  words: string;
  receipt: Receipt;
}

async function play(path: readonly Move[]) {
  const it = world();
  const { w } = it;
  const given = new Map<string, Known>();
  const forbidden: string[] = [];
  w.engine.admit({ requestId: "r1", trigger: "ws-chat", input: [user("u-r1", "first")] });
  await quiet();
  for (const { client, does } of path) {
    if (does === "step") it.step();
    else if (does === "kill") {
      w.boot();
      w.engine.resume();
      w.clock.skip(120_000);
    } else act(w, { client: client ?? "", does }, given, forbidden);
    await quiet();
  }
  for (let n = 0; w.conversation.row.openTurns.length > 0; n++) {
    if (n > 400) throw new Error(`it does not end: ${print(path)}`);
    it.step();
    w.clock.skip(120_000);
    await quiet();
  }
  return { ...it, given, forbidden };
}

function act(
  { engine }: World,
  { client, does }: { readonly client: string; readonly does: Move["does"] },
  given: Map<string, Known>,
  forbidden: string[]
): void {
  if (does === "steer" || does === "follow-up") {
    const words = `words of ${client}`;
    engine.admit({ requestId: client, trigger: "ws-chat", entry: does, input: [user(`u-${client}`, words)] });
    given.set(client, { words, receipt: engine.steering.receipt(client)! });
    return;
  }
  const known = given.get(client);
  if (!known) throw new Error("it gave nothing");
  try {
    if (does === "withdraw") known.receipt = engine.steering.withdraw(client);
    else {
      const words = `new words of ${client}`;
      known.receipt = engine.steering.edit(client, [{ type: "text", text: words }]);
      forbidden.push(`"${known.words}"`);
      known.words = words;
    }
    if (does === "withdraw") forbidden.push(`"${known.words}"`);
  } catch (error) {
    // It has taken effect: the receipt says so, and nothing was changed.
    expect(error).toMatchObject({ code: "not-waiting" });
    expect(["applied", "started", "withdrawn"]).toContain(engine.steering.receipt(client)?.state);
  }
}

const print = (path: readonly Move[]) => path.map(({ client, does }) => `${client ?? ""}${does}`).join(" ");

test("in every order of up to four moves, no accepted message is lost or doubled, and no old words reach the model", async () => {
  let runs = 0;
  const seen = new Map<string, number>();
  for (let length = 1; length <= 4; length++) {
    for (const path of paths(length)) {
      runs += 1;
      const { w, model, given, forbidden } = await play(path);
      const lines = w.texts();
      for (const [client, { words, receipt }] of given) {
        const state = w.engine.steering.receipt(client)?.state;
        seen.set(state ?? "none", (seen.get(state ?? "none") ?? 0) + 1);
        const isWithdrawn = receipt.state === "withdrawn";
        const place = `${print(path)} / ${client}`;
        expect([place, lines.filter((line) => line === `user:${words}`).length]).toEqual([place, isWithdrawn ? 0 : 1]);
        expect([place, state]).toEqual([
          place,
          isWithdrawn ? "withdrawn" : expect.stringMatching(/^(applied|started)$/)
        ]);
        // Read, and answered: an answer comes after it.
        const at = lines.indexOf(`user:${words}`);
        if (!isWithdrawn)
          expect([place, lines.slice(at).some((line) => line.startsWith("assistant:"))]).toEqual([place, true]);
      }
      expect([print(path), lines.filter((line) => line.startsWith("user:")).length]).toEqual([
        print(path),
        1 + [...given.values()].filter(({ receipt }) => receipt.state !== "withdrawn").length
      ]);
      const read = JSON.stringify(model.calls.map(({ prompt }) => prompt));
      for (const words of forbidden) expect([print(path), read.includes(words)]).toEqual([print(path), false]);
      // Steers before follow-ups, each in the order of acceptance, unless it had its effect before the other came.
      const order = lines.filter((line) => line.startsWith("user:")).map(textOfLine);
      expect(new Set(order).size).toBe(order.length);
    }
  }
  expect(runs).toBeGreaterThan(500);
  // Each way for a message to end was met.
  for (const state of ["applied", "started", "withdrawn"]) expect(seen.get(state)).toBeGreaterThan(50);
});

const textOfLine = (line: string) => line.slice("user:".length);
