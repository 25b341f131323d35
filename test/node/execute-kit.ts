// What the tests of executed code share: a Think whose tools are written by each test, side effects that outlive the
// process, and ways to decide.
import { tool, type ToolSet } from "ai";
import { z } from "zod";
import {
  Think,
  type ApprovalAuthorizationContext,
  type PausedDescription,
  type ToolCallContext,
  type ToolCallDecision
} from "../../src/index.ts";
import {
  createExecuteRuntime,
  type CreateExecuteToolOptions,
  type ExecuteRuntime,
  type ExecutionOutcome
} from "../../src/features/execute/index.ts";
import {
  createScript,
  createTestHost,
  createTestLoader,
  reply,
  scriptedModel,
  text,
  toolCall,
  type Script,
  type Step
} from "../../src/testing/index.ts";
import { storedMessages, user } from "../kit/messages.ts";

interface Env {
  LOADER: ReturnType<typeof createTestLoader>;
}

interface Scene {
  script: Script;
  frozenUntil: number;
  /** In place of one that plays the script. */
  model?: ReturnType<typeof scriptedModel>;
  options: (agent: Coder) => CreateExecuteToolOptions;
  /** In place of the tool that is made with the options. */
  tools?: () => ToolSet;
  runtime?: (agent: Coder) => object | Promise<object>;
  /** Side effects, in the order in which they happened. */
  effects: string[];
  before: (call: ToolCallContext) => ToolCallDecision | void;
  after: (call: object) => void;
  /** Whether the caller may decide. */
  authorize: (context: ApprovalAuthorizationContext) => boolean | Promise<boolean>;
  describe: () => PausedDescription | undefined;
}

export const scene: Scene = {
  script: createScript([]),
  frozenUntil: 0,
  options: () => ({}),
  effects: [],
  before: () => undefined,
  after: () => undefined,
  authorize: () => true,
  describe: () => undefined
};

export class Coder extends Think<Env> {
  override workspaceTools = false;
  runtime: ExecuteRuntime | undefined;

  constructor(ctx: DurableObjectState, env: Env) {
    // As `everthink serve` would set it.
    super(ctx, Object.assign({}, env, { EVERTHINK_FROZEN_UNTIL: String(scene.frozenUntil) }));
  }
  override getModel() {
    return scene.model ?? scriptedModel(scene.script);
  }
  override getTools(): ToolSet {
    if (scene.tools) return scene.tools();
    const { runtime, tool: execute } = createExecuteRuntime(this, scene.options(this));
    this.runtime = runtime;
    return { execute };
  }
  override getExecuteRuntime() {
    return scene.runtime?.(this);
  }
  override beforeToolCall(call: ToolCallContext) {
    return scene.before(call);
  }
  override afterToolCall(call: object) {
    scene.after(call);
  }
  override authorizeApproval(context: ApprovalAuthorizationContext) {
    return scene.authorize(context);
  }
  override describePausedExecution() {
    return scene.describe();
  }
  async shorten(fromMessageId: string, toMessageId: string) {
    await this.session.addCompaction("what was said", fromMessageId, toMessageId);
  }
  /** Runs a batch of reads beside a call that waits, approves it, and again: how often the code did not repeat itself. */
  async repeat(times: number): Promise<string[]> {
    const tools = this.getTools();
    const code = `const [a, b, c] = await Promise.all([
      (async () => [await world.wait({ n: 1 }), await world.wait({ n: 2 })])(),
      (async () => [await world.wait({ n: 3 }), await world.wait({ n: 4 })])(),
      world.gated({ n: 5 })
    ]); [...a, ...b, c].join()`;
    const outcomes: string[] = [];
    for (let time = 0; time < times; time++) {
      const options = { toolCallId: `t${time}`, messages: [], context: {} };
      const paused = (await tools["execute"]?.execute?.({ code } as never, options as never)) as ExecutionOutcome;
      const done = (await this.runtime?.approve({ executionId: paused.executionId })) as { result?: string };
      outcomes.push(`${paused.status} ${done.result ?? JSON.stringify(done)}`);
    }
    return outcomes;
  }
  /** As user code calls the tool: with nothing but the code. */
  async runPlainly(code: string): Promise<ExecutionOutcome> {
    const { execute } = this.getTools();
    return (await execute?.execute?.({ code } as never, undefined as never)) as ExecutionOutcome;
  }
  /** Anything of the handle, from a test. */
  async use(method: keyof ExecuteRuntime, ...args: unknown[]): Promise<unknown> {
    this.getTools();
    const handle = this.runtime as unknown as Record<string, (...args: unknown[]) => unknown>;
    return structuredClone(await handle[method]?.(...args));
  }
}

export const TOOLS: ToolSet = {
  add: tool({
    description: "Adds two numbers.",
    inputSchema: z.object({ a: z.number(), b: z.number() }),
    execute: ({ a, b }) => {
      scene.effects.push(`add ${a} ${b}`);
      return a + b;
    }
  }),
  deploy: tool({
    description: "Deploys.",
    inputSchema: z.object({ ref: z.string() }),
    needsApproval: true,
    execute: ({ ref }) => {
      scene.effects.push(`deploy ${ref}`);
      return `deployed ${ref}`;
    }
  }),
  fail: tool({
    inputSchema: z.object({}),
    execute: (): string => {
      scene.effects.push("fail");
      throw new RangeError(`failed ${scene.effects.length}`);
    }
  })
};

/** The model runs this code, then says something. */
export function runs(code: string, more: Step[] = []): Step[] {
  return [reply(toolCall("execute", { code }, { id: "c1" })), reply(text("done")), ...more];
}

export function open(steps: Step[], options: Scene["options"] | CreateExecuteToolOptions = { tools: TOOLS }) {
  const given = typeof options === "function" ? options : () => options;
  Object.assign(scene, {
    script: createScript(steps),
    model: undefined,
    tools: undefined,
    runtime: undefined,
    frozenUntil: 0,
    options: given,
    effects: [],
    before: () => undefined,
    after: () => undefined,
    authorize: () => true,
    describe: () => undefined
  });
  return createTestHost({ agents: { Coder }, env: { LOADER: createTestLoader() } });
}

export type Host = ReturnType<typeof open>;

export const coder = (host: Host) => host.get(Coder, "a");

export async function say(host: Host, words = "go") {
  return (await coder(host)).saveMessages([user(words)]);
}

export const messages = (host: Host) => storedMessages(host, "/agents/coder/a");

/** The tool part of a call, as it is stored. */
export async function part(host: Host, toolCallId = "c1"): Promise<Record<string, unknown>> {
  const parts = (await messages(host)).flatMap((message) => message.parts as unknown as Record<string, unknown>[]);
  return parts.find((one) => one["toolCallId"] === toolCallId) ?? {};
}

export async function output(host: Host, toolCallId = "c1"): Promise<ExecutionOutcome> {
  return (await part(host, toolCallId))["output"] as ExecutionOutcome;
}

/** Runs code in a turn and answers its outcome. */
export async function outcomeOf(code: string, options?: Scene["options"] | CreateExecuteToolOptions) {
  const host = open(runs(code), options);
  await say(host);
  return output(host);
}
