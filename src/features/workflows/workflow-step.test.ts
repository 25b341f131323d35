import { expect, test } from "vitest";
import type { WorkflowStep } from "#platform";
import type { ReportContent } from "./report.ts";
import { openStep } from "./workflow-step.ts";

/** A step whose members, as on the platform, answer to any name and are made at the moment they are asked for. */
function open(answer: { taken: true } | { taken: false; reason: string } = { taken: true }) {
  const steps: string[] = [];
  const sent: [string, ReportContent][] = [];
  const members: Record<string, unknown> = {
    do: async (name: string, ...rest: unknown[]) => {
      steps.push(name);
      return (rest.at(-1) as () => Promise<unknown>)();
    },
    sleep: async (name: string) => void steps.push(`sleep ${name}`)
  };
  const platform = new Proxy({}, { get: (_target, name) => members[String(name)] ?? (() => "remote") });
  const opened = openStep(platform as WorkflowStep, async (name, content) => {
    sent.push([name, content]);
    return answer;
  });
  return { ...opened, steps, sent };
}

test("reports are numbered per kind in the order they are made, unless they are named", async () => {
  const { step, steps } = open();
  await step.reportProgress(1);
  await step.sendEvent(1);
  await step.reportProgress(2);
  await step.reportProgress(3, { name: "third" });
  await step.reportProgress(4);
  expect(steps).toEqual(["agent:progress:1", "agent:event:1", "agent:progress:2", "third", "agent:progress:4"]);
});

test("each report says what it is for; errors and broadcasts travel as text", async () => {
  const { step, sent } = open();
  await step.reportError(new TypeError("broken"));
  await step.reportError("just text");
  await step.broadcastToClients("as it is");
  await step.broadcastToClients({ type: "x" });
  await step.updateAgentState({ a: 1 });
  await step.mergeAgentState({ b: 2 });
  await step.resetAgentState();
  expect(sent.map(([, content]) => content)).toEqual([
    { do: "error", error: "broken" },
    { do: "error", error: "just text" },
    { do: "broadcast", message: "as it is" },
    { do: "broadcast", message: '{"type":"x"}' },
    { do: "set-state", state: { a: 1 } },
    { do: "merge-state", partial: { b: 2 } },
    { do: "reset-state" }
  ]);
});

test("the platform's own steps pass through, and the step is not taken for a promise", async () => {
  const { step, steps } = open();
  expect(await step.do("own", async () => "result")).toBe("result");
  await step.sleep("rest", 1);
  expect(steps).toEqual(["own", "sleep rest"]);
  expect(await Promise.resolve(step)).toBe(step);
});

test("only completion and error are ends", async () => {
  const { step, hasEnded } = open();
  await step.reportProgress(1);
  await step.sendEvent(1);
  expect(hasEnded()).toBe(false);
  await step.reportComplete();
  expect(hasEnded()).toBe(true);
  const other = open();
  await other.step.reportError("x");
  expect(other.hasEnded()).toBe(true);
});

test("a refusal is the step's result, thrown after it", async () => {
  const { step, steps } = open({ taken: false, reason: "no." });
  await expect(step.updateAgentState(1)).rejects.toMatchObject({ code: "workflow-report-refused" });
  expect(steps).toEqual(["agent:set-state:1"]);
});

test("a broadcast that is not JSON fails before anything is sent", async () => {
  const { step, steps } = open();
  await expect(step.broadcastToClients({ big: 1n })).rejects.toMatchObject({ code: "not-json" });
  expect(steps).toEqual([]);
});
