// Code that speaks to the host's functions directly, past the program it was wrapped in: what the pass must hold by itself.
import { expect, test } from "vitest";
import type { Connector } from "../../src/features/execute/index.ts";
import type { CodeExecutor } from "../../src/features/execute/runner.ts";
import { Coder, messages, open, output, runs, say, scene, TOOLS } from "./execute-kit.ts";

type Host = Parameters<CodeExecutor["execute"]>[1][number]["fns"];
type Answer = Record<string, unknown>;

/** Plays code that does with the functions what it likes. */
async function played(
  code: (call: (name: string, argument: object) => Promise<Answer>) => Promise<unknown>,
  connectors: Connector[] = []
) {
  const executor: CodeExecutor = {
    execute: async (_code, [provider]) => {
      const fns: Host = provider?.fns ?? {};
      const value = await code(async (name, argument) => (await fns[name]?.(argument)) as Answer);
      return { result: { value, logs: [] } };
    }
  };
  const host = open(runs("0"), { tools: TOOLS, connectors, executor });
  await say(host);
  return { host, outcome: await output(host) };
}

const add = (seq: number, a = 1, batch = 0) => ({ seq, batch, connector: "tools", method: "add", args: { a, b: 1 } });

test("a call number is used once: code is not answered with what another call came to", async () => {
  const answers: Answer[] = [];
  const { outcome } = await played(async (call) => {
    answers.push(await call("call", add(0)), await call("call", add(0)), await call("call", add(1)));
    return answers;
  });
  expect(answers[0]).toMatchObject({ value: 2 });
  expect(answers[1]).toEqual({ refused: "The code tampered with its calls." });
  expect(answers[2]).toMatchObject({ refused: expect.any(String) });
  expect(outcome).toMatchObject({ status: "error", error: "The code tampered with its calls." });
  expect(scene.effects).toEqual(["add 1 1"]);
});

test("code cannot say what its own tool call came to", async () => {
  const begun = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const slow: Connector = {
    name: () => "w",
    tools: () => ({
      slow: {
        execute: async () => {
          begun.resolve();
          await release.promise;
          return "real";
        }
      }
    })
  };
  const { host, outcome } = await played(
    async (call) => {
      const made = call("call", { seq: 0, batch: 0, connector: "w", method: "slow", args: {} });
      await begun.promise;
      const forged = await call("stepDone", { seq: 0, value: "forged" });
      release.resolve();
      return [forged, (await made)["value"]];
    },
    [slow]
  );
  expect(outcome).toMatchObject({ status: "completed", result: [{ refused: "This is not a step." }, "real"] });
  expect(host.sql(Coder, "a", "SELECT state, result FROM cm_log")).toEqual([{ state: "applied", result: '"real"' }]);
  expect(JSON.stringify(await messages(host))).not.toContain('"forged"');
});

test("a call whose gate is still asked is not made when a call beside it has ended the run", async () => {
  const gate = Promise.withResolvers<boolean>();
  const w: Connector = {
    name: () => "w",
    tools: () => ({
      // No JSON: it cannot be recorded, and the run fails.
      bad: { execute: async () => () => 1 },
      pay: { requiresApproval: () => gate.promise, execute: () => scene.effects.push("pay") }
    })
  };
  const { outcome } = await played(
    async (call) => {
      const paying = call("call", { seq: 0, batch: 0, connector: "w", method: "pay", args: {} });
      await call("call", { seq: 1, batch: 0, connector: "w", method: "bad", args: {} });
      gate.resolve(false);
      return paying;
    },
    [w]
  );
  expect(outcome).toMatchObject({ status: "error", error: expect.stringContaining("cannot be recorded") });
  expect(scene.effects).toEqual([]);
});

test("a call whose gate is still asked is not made when the run waits for another moment's call", async () => {
  const gate = Promise.withResolvers<boolean>();
  const w: Connector = {
    name: () => "w",
    tools: () => ({ pay: { requiresApproval: () => gate.promise, execute: () => scene.effects.push("pay") } })
  };
  const { outcome } = await played(
    async (call) => {
      const paying = call("call", { seq: 0, batch: 0, connector: "w", method: "pay", args: {} });
      await call("call", { seq: 1, batch: 1, connector: "tools", method: "deploy", args: { ref: "a" } });
      gate.resolve(false);
      return paying;
    },
    [w]
  );
  expect(outcome).toMatchObject({ status: "paused", pending: [{ seq: 1 }] });
  expect(scene.effects).toEqual([]);
});
