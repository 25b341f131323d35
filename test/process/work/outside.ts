// Everything that is outside of the killed process: what counts effects and says how they behave, and the platform of the
// workflows. It survives, as the services that an agent calls do.
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Instruction } from "./jobs.ts";

/** Something that the process did. */
export interface Arrival {
  readonly agent: string;
  readonly kind: string;
  readonly id: string;
  readonly phase: "begin" | "end";
  readonly key: string;
  /** The process. */
  readonly life: string;
  readonly at: number;
  /** It was told to fail, or not to return. */
  readonly then: Instruction["then"];
}

interface WorkflowInstance {
  readonly id: string;
  readonly params: unknown;
  readonly steps: Map<string, unknown>;
  readonly events: { type: string; payload?: unknown }[];
  isOver: boolean;
  value: unknown;
  /** Something came since it was run last. */
  isReady: boolean;
}

/** What a "slow" job takes longer. */
const SLOW_MS = 700;
/** Between two looks for workflows that can go on. */
const PLATFORM_MS = 60;
/** An instance whose run was cut off is run again. */
const RUN_MS = 10_000;

export class Outside {
  readonly arrivals: Arrival[] = [];
  /** Life to when it was killed. */
  readonly deaths = new Map<string, number>();
  readonly workflows = new Map<string, WorkflowInstance>();
  /** Called before an arrival is answered; what is returned is awaited. */
  beforeAnswer: (arrival: Arrival) => Promise<void> | undefined = () => undefined;
  /** Whether a job may hang now: a kill must follow. */
  mayHang: () => boolean = () => false;
  onHang: () => void = () => undefined;
  readonly #server = createServer((request, response) => {
    // A process that is killed in the middle of its request has sent none.
    this.#serve(request, response).catch(() => request.socket.destroy());
  });
  #newest = "";
  #isDown = false;

  async listen(): Promise<number> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  of(agent: string): readonly Arrival[] {
    return this.arrivals.filter((one) => one.agent === agent);
  }

  hasBegun(agent: string, id: string): boolean {
    return this.arrivals.some((one) => one.agent === agent && one.id === id);
  }

  /** The process that runs now is dead. */
  killed(): void {
    this.#isDown = true;
    this.#died(this.#newest);
  }

  /** Another process is about to begin. */
  starts(): void {
    this.#isDown = false;
  }

  #died(life: string): void {
    if (!this.deaths.has(life)) this.deaths.set(life, performance.now());
  }

  /** Runs what workflows there are, in the process, until the signal is aborted. */
  async runWorkflows(url: string, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const ready = [...this.workflows.values()].filter((one) => one.isReady && !one.isOver);
      await Promise.all(ready.map((instance) => this.#run(instance, url)));
      await new Promise((resolve) => setTimeout(resolve, PLATFORM_MS));
    }
  }

  async #run(instance: WorkflowInstance, url: string): Promise<void> {
    instance.isReady = false;
    try {
      const answer = await fetch(`${url}/workflow?${new URLSearchParams({ id: instance.id })}`, {
        signal: AbortSignal.timeout(RUN_MS)
      });
      const text = await answer.text();
      if (text !== "waits" && text !== "complete") instance.isReady = true;
    } catch {
      instance.isReady = true;
    }
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
    const given = Object.fromEntries(searchParams);
    const answer =
      pathname === "/workflow"
        ? await this.#askPlatform(given, JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>)
        : await this.#count(given);
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify(answer));
  }

  /** What starts a workflow and what notifies it are effects, too. */
  async #askPlatform({ what = "", id = "", life = "" }: Record<string, string>, body: Record<string, unknown>) {
    const [, agent = "", job = ""] = /^(\d+-\d+-\d+-\d+)-(.*)$/.exec(id) ?? [];
    const told = { agent, life, phase: "begin" };
    if (what === "create") await this.#count({ ...told, kind: "workflow", id: job });
    const type = String(body["type"]).split("-")[1] ?? "";
    if (what === "event") await this.#count({ ...told, kind: "notification of a workflow", id: `${job} ${type}` });
    return this.#platform(what, id, body);
  }

  async #count(given: Record<string, string>): Promise<Instruction> {
    const { agent = "", kind = "", id = "", phase = "begin", key = "", life = "" } = given;
    const instruction = phase === "begin" ? this.#instruct(agent, kind, id) : GO;
    const arrival = { agent, kind, id, key, life, at: performance.now(), then: instruction.then };
    const one: Arrival = { ...arrival, phase: phase === "end" ? "end" : "begin" };
    this.arrivals.push(one);
    if (this.#isDown) this.#died(life);
    else this.#newest = life;
    if (one.then === "hang") this.onHang();
    await this.beforeAnswer(one);
    return instruction;
  }

  #instruct(agent: string, kind: string, id: string): Instruction {
    const isFirst = !this.arrivals.some((one) => one.agent === agent && one.kind === kind && one.id === id);
    const hasSteps = /\.step\d$/.test(id);
    if (isFirst && id.includes("hangs") && this.mayHang()) return { waitMs: 0, then: "hang" };
    // A fiber that throws is over; its hook is called again.
    if (isFirst && id.includes("throws") && !hasSteps) return { waitMs: 0, then: "throw" };
    return { waitMs: id.includes("slow") ? SLOW_MS : 0, then: "go" };
  }

  #platform(what: string, id: string, body: Record<string, unknown>): { isKnown: boolean; value?: unknown } {
    const instance = this.workflows.get(id);
    if (what === "create" && !instance) {
      const made = {
        id,
        params: body["params"],
        steps: new Map(),
        events: [],
        isOver: false,
        value: null,
        isReady: true
      };
      this.workflows.set(id, made);
      return { isKnown: false };
    }
    if (!instance) return { isKnown: false };
    switch (what) {
      case "event":
        instance.events.push(body as { type: string });
        instance.isReady = true;
        return { isKnown: true };
      case "step":
        return stepOf(instance, body);
      case "awaited": {
        // The first of a type is taken; each wait of these workflows has a type of its own.
        const event = instance.events.find(({ type }) => type === body["type"]);
        return event ? { isKnown: true, value: event.payload } : { isKnown: false };
      }
      case "ended":
        instance.isOver = true;
        instance.value = body["value"];
        return { isKnown: true };
      default:
        return { isKnown: true, value: instance.params };
    }
  }
}

const GO: Instruction = { waitMs: 0, then: "go" };

/** The first result of a step counts. */
function stepOf({ steps }: WorkflowInstance, { step, result }: Record<string, unknown>) {
  const name = String(step);
  if (!steps.has(name) && result !== undefined) steps.set(name, (result as { value?: unknown }).value);
  return steps.has(name) ? { isKnown: true, value: steps.get(name) } : { isKnown: false };
}
