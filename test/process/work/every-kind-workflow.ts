// A workflow of the kill run, and a platform for it. Nothing runs workflows under plain workerd: instances, finished steps and
// events are kept outside of the process, and the run is made here, again from the top whenever it was cut off.
import { ThinkWorkflow, type AgentWorkflowEvent, type ThinkWorkflowStep } from "everthink/workflows";
import type { Everything } from "./every-kind-worker.ts";

export interface WorkflowParams {
  readonly id: string;
}

export class Triage extends ThinkWorkflow<Everything, WorkflowParams> {
  override async run({ payload: { id } }: AgentWorkflowEvent<WorkflowParams>, step: ThinkWorkflowStep) {
    const answer = await step.prompt("ask", { prompt: `Do say ${id}.prompt`, timeout: "1 hour" });
    const { approved } = await step.approval("agree", { summary: "Agree?", input: { id: `${id}.approval` } });
    await step.reportProgress({ answer });
    return { answer, approved };
  }
}

let life = "";

/** This process. Drawn when it is first asked for: a module may not. */
export function currentLife(): string {
  life ||= crypto.randomUUID();
  return life;
}

/** What the platform outside answers. */
interface Recorded {
  readonly isKnown: boolean;
  readonly value?: unknown;
}

/** The binding that stands in `env`. The id of an instance begins with the name of its agent. */
export function workflowBinding() {
  const handle = (id: string) => ({
    id,
    sendEvent: async (event: { type: string; payload?: unknown }) => void (await ask("event", id, event)),
    status: async () => ({ status: "running" }),
    pause: async () => undefined,
    resume: async () => undefined,
    terminate: async () => undefined,
    restart: async () => undefined
  });
  return {
    async create({ id, params }: { id: string; params: unknown }) {
      const { isKnown } = await ask("create", id, { params });
      if (isKnown) throw new Error("instance.already_exists");
      return handle(id);
    },
    async get(id: string) {
      const { isKnown } = await ask("get", id, {});
      if (!isKnown) throw new Error("instance.not_found");
      return handle(id);
    }
  };
}

/** Runs an instance as far as it comes: to its end, to an event that is not there yet, or to a step that failed. */
export async function runInstance(id: string, ctx: ExecutionContext, env: object): Promise<string> {
  const { value: params } = await ask("get", id, {});
  const stopped = Promise.withResolvers<string>();
  const stop = (why: string) => {
    stopped.resolve(why);
    return new Promise<never>(() => undefined);
  };
  const counts = new Map<string, number>();
  const step = {
    async do(name: string, ...rest: unknown[]) {
      counts.set(name, (counts.get(name) ?? 0) + 1);
      const step = `${name} ${counts.get(name)}`;
      const recorded = await ask("step", id, { step });
      if (recorded.isKnown) return recorded.value;
      const body = rest.find((one) => typeof one === "function") as () => Promise<unknown>;
      try {
        const value = await body();
        return (await ask("step", id, { step, result: { value } })).value;
      } catch (error) {
        return stop(`${name} failed: ${String(error)}`);
      }
    },
    async waitForEvent(_name: string, { type }: { type: string }) {
      const { isKnown, value: payload } = await ask("awaited", id, { type });
      return isKnown ? { payload, type, timestamp: new Date(0) } : stop("waits");
    }
  };
  const workflow = new Triage(ctx, env);
  const event = { payload: params as WorkflowParams, timestamp: new Date(0), instanceId: id, workflowName: "triage" };
  // The parts of the platform's step that are used.
  const run = workflow.run(event, step as object as ThinkWorkflowStep).then(async (value) => {
    await ask("ended", id, { value });
    return "complete";
  });
  return Promise.race([run, stopped.promise]);
}

async function ask(what: string, id: string, body: object): Promise<Recorded> {
  const [port] = id.split("-");
  const url = `http://127.0.0.1:${port}/workflow?${new URLSearchParams({ what, id, life: currentLife() })}`;
  const response = await fetch(url, { method: "POST", body: JSON.stringify(body) });
  return (await response.json()) as Recorded;
}
