// A workflow binding without a platform: instances and finished steps are kept here, outside the host's process, and
// unfinished instances run again from the top on request, as the platform does after it lost them.
import type { WorkflowEvent, WorkflowStep } from "../../src/testing/inprocess/platform.ts";
import type { TestHost } from "../../src/testing/index.ts";

interface RunnableWorkflow {
  run(event: Readonly<WorkflowEvent<unknown>>, step: WorkflowStep): Promise<unknown>;
}

export type WorkflowClass = new (ctx: ExecutionContext, env: never) => RunnableWorkflow;

export interface Instance {
  id: string;
  params: unknown;
  status: "running" | "complete" | "errored" | "lost" | "paused" | "terminated";
  output?: unknown;
  error?: string;
  /** Results of finished steps by name. */
  steps: Map<string, unknown>;
  events: { type: string; payload?: unknown }[];
  waiting: Map<string, (payload: unknown) => void>;
}

type StepBody = (context: { attempt: number }) => Promise<unknown>;

export class WorkflowPlatform {
  readonly instances = new Map<string, Instance>();
  /** What `create`, `get` and `sendEvent` throw next. */
  readonly faults: { create: unknown[]; get: unknown[]; sendEvent: unknown[] } = { create: [], get: [], sendEvent: [] };
  /** Step bodies that were run, retries included. */
  readonly attempts: string[] = [];
  /** Called after a step's body succeeded and before the platform has written that down. */
  beforeRecord: (step: string) => void = () => {};
  host: TestHost<unknown> | undefined;
  readonly #workflow: WorkflowClass;

  constructor(workflow: WorkflowClass) {
    this.#workflow = workflow;
  }

  /** The object that stands in `env`. */
  readonly binding = {
    create: async (options: { id: string; params: unknown }) => {
      await this.host?.boundary();
      this.#fail("create");
      if (this.instances.has(options.id)) throw new Error("instance.already_exists");
      const instance: Instance = {
        id: options.id,
        params: structuredClone(options.params),
        status: "running",
        steps: new Map(),
        events: [],
        waiting: new Map()
      };
      this.instances.set(options.id, instance);
      void this.#run(instance);
      await this.host?.boundary();
      return { id: options.id };
    },
    get: async (id: string) => {
      await this.host?.boundary();
      this.#fail("get");
      const instance = this.instances.get(id);
      if (!instance) throw new Error("instance.not_found");
      const become = async (status: "paused" | "running" | "terminated") => void (instance.status = status);
      return {
        id,
        sendEvent: async (event: { type: string; payload?: unknown }) => this.#receive(instance, event),
        status: async () => ({ status: instance.status, output: instance.output, error: instance.error }),
        pause: () => become("paused"),
        resume: () => become("running"),
        terminate: () => become("terminated"),
        restart: async () => {
          instance.steps.clear();
          void this.#run(instance);
        }
      };
    }
  };

  instance(id: string): Instance {
    const instance = this.instances.get(id);
    if (!instance) throw new Error(`There is no instance ${id}`);
    return instance;
  }

  /** Runs what was cut off by a crash again, from the top. */
  async resume(): Promise<void> {
    await Promise.all(
      [...this.instances.values()].filter(({ status }) => status === "lost").map((lost) => this.#run(lost))
    );
  }

  async #run(instance: Instance): Promise<void> {
    instance.status = "running";
    const workflow = new this.#workflow({} as ExecutionContext, this.host?.env as never);
    const event = {
      payload: structuredClone(instance.params) as object,
      timestamp: new Date(0),
      instanceId: instance.id,
      workflowName: "platform-name"
    };
    try {
      instance.output = await workflow.run(event, this.#step(instance));
      instance.status = "complete";
    } catch (error) {
      instance.status = "errored";
      instance.error = error instanceof Error ? error.message : String(error);
    }
  }

  #step(instance: Instance): WorkflowStep {
    const counts = new Map<string, number>();
    const step = {
      do: async (name: string, ...rest: unknown[]) => {
        const body = rest.find((each) => typeof each === "function") as StepBody;
        const config = rest.find((each) => typeof each === "object") as { retries?: { limit: number } } | undefined;
        counts.set(name, (counts.get(name) ?? 0) + 1);
        const key = `${name} ${counts.get(name)}`;
        if (!instance.steps.has(key))
          instance.steps.set(key, await this.#attempt(instance, name, { body, limit: config?.retries?.limit ?? 5 }));
        return instance.steps.get(key);
      },
      waitForEvent: async (name: string, { type }: { type: string }) => {
        if (!instance.steps.has(name)) {
          const index = instance.events.findIndex((event) => event.type === type);
          const [ready] = index < 0 ? [] : instance.events.splice(index, 1);
          const payload = ready ? ready.payload : await new Promise((resolve) => instance.waiting.set(type, resolve));
          instance.steps.set(name, payload);
        }
        return { payload: instance.steps.get(name), type, timestamp: new Date(0) };
      }
    };
    // The parts of the platform's step that these tests use.
    return step as object as WorkflowStep;
  }

  async #attempt(
    instance: Instance,
    name: string,
    { body, limit }: { body: StepBody; limit: number }
  ): Promise<unknown> {
    for (let attempt = 1; ; attempt++) {
      try {
        this.attempts.push(name);
        const result = structuredClone(await body({ attempt }));
        this.beforeRecord(name);
        return result;
      } catch (error) {
        if (this.host?.crashed) return this.#lose(instance);
        if (attempt > limit) throw error;
      }
    }
  }

  /** The machine that ran it is gone, too: nothing of this run goes on. */
  #lose(instance: Instance): Promise<never> {
    instance.status = "lost";
    return new Promise(() => undefined);
  }

  #receive(instance: Instance, event: { type: string; payload?: unknown }): void {
    this.#fail("sendEvent");
    const waiting = instance.waiting.get(event.type);
    instance.waiting.delete(event.type);
    if (waiting) waiting(event.payload);
    else instance.events.push(event);
  }

  #fail(call: "create" | "get" | "sendEvent"): void {
    if (this.faults[call].length > 0) throw this.faults[call].shift();
  }
}
