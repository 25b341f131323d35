// An agent that executes code, for tests inside workerd.
import { tool } from "ai";
import { z } from "zod";
import { createExecuteRuntime, type ExecutionOutcome } from "../../src/features/execute/index.ts";
import { Think } from "../../src/index.ts";
import { reply, scriptedModel, text, toolCall } from "../../src/testing/model/index.ts";

export class Programmer extends Think {
  override workspaceTools = false;
  readonly effects: string[] = [];

  override getModel() {
    const code = `const sum = await tools.add({ a: 2, b: 3 }); await tools.deploy({ ref: "v" + sum })`;
    return scriptedModel([
      reply(toolCall("execute", { code }, { id: "c1" })),
      reply(text("Waiting.")),
      reply(text("Done."))
    ]);
  }

  override getTools() {
    return { execute: this.make().tool };
  }

  make(timeout = 10_000) {
    const add = tool({
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      execute: ({ a, b }) => a + b
    });
    const deploy = tool({
      inputSchema: z.object({ ref: z.string() }),
      needsApproval: true,
      execute: ({ ref }) => this.effects.push(`deploy ${ref}`)
    });
    const echo = tool({
      inputSchema: z.any(),
      execute: (value: unknown) => ({ value, isPolluted: Reflect.get({}, "polluted") !== undefined })
    });
    const kinds = tool({
      inputSchema: z.any(),
      execute: (values: object) => Object.values(values).map((value: object) => value.constructor.name)
    });
    return createExecuteRuntime(this, { tools: { add, deploy, echo, kinds }, timeout });
  }

  async made(): Promise<string[]> {
    return this.effects;
  }

  async executions() {
    return structuredClone(this.make().runtime.executions());
  }

  async run(code: string, timeout?: number): Promise<ExecutionOutcome> {
    const { tool: execute } = this.make(timeout);
    const options = { toolCallId: "t", messages: [], context: {} };
    return structuredClone((await execute.execute?.({ code }, options as never)) as ExecutionOutcome);
  }
}
