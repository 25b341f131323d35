// What users rely on the compiler to know, and what the class does before an agent is involved.
import { expect, expectTypeOf, test } from "vitest";
import { AgentBase as Agent } from "../../agent/agent-base.ts";
import { AgentWorkflow, type AgentWorkflowEvent, type AgentWorkflowStep } from "./index.ts";

interface Books {
  count: number;
}

class Shop extends Agent<object, Books> {
  price(title: string): number {
    return title.length;
  }
}

type Step = AgentWorkflowStep<{ percent: number }, Books>;

class Order extends AgentWorkflow<Shop, { title: string }, { percent: number }, { KEY: string }> {
  override async run(event: AgentWorkflowEvent<{ title: string }>, step: Step) {
    expectTypeOf(event.payload.title).toEqualTypeOf<string>();
    expectTypeOf(this.agent.price).toEqualTypeOf<(title: string) => Promise<number>>();
    expectTypeOf(this.agent).not.toHaveProperty("setState");
    expectTypeOf(this.env.KEY).toEqualTypeOf<string>();
    await step.reportProgress({ percent: 1 });
    await step.mergeAgentState({ count: 1 });
    // @ts-expect-error the state is the agent's
    await step.updateAgentState({ wrong: 1 });
    // @ts-expect-error progress has the class's type
    await step.reportProgress("half");
    return step.do("price", () => this.agent.price(event.payload.title));
  }
}

test("outside a run there is no agent, id or name to give", () => {
  const order = new Order({} as ExecutionContext, { KEY: "k" });
  for (const read of [() => order.agent, () => order.workflowId, () => order.workflowName]) {
    expect(read).toThrow("Order was not started by an agent.");
  }
});
