// What the tests of submissions share: an agent whose model answers what it was last asked, and what its hooks saw. Both
// live outside the class, so they outlive the process.
import type { ToolSet, UIMessage } from "ai";
import type { AgentEvent } from "../../src/observe/index.ts";
import {
  Think,
  type SubmitMessagesOptions,
  type ThinkSubmissionInspection,
  type TurnContext
} from "../../src/index.ts";
import {
  createGate,
  createScript,
  createTestHost,
  reply,
  scriptedModel,
  text,
  type RecordedCall,
  type Script,
  type Steps,
  type TestHost
} from "../../src/testing/index.ts";
import { user } from "../kit/messages.ts";

type MaybePromise<T> = T | Promise<T>;

export interface Behaviour {
  status?: (submission: ThinkSubmissionInspection, agent: Clerk) => MaybePromise<void>;
  tools?: (agent: Clerk) => ToolSet;
  beforeTurn?: (context: TurnContext) => MaybePromise<void>;
  retentionMs?: number;
  historyBytes?: number;
}

/** What outlives the process. */
export const scene: { script: Script; behaviour: Behaviour; events: AgentEvent[]; statuses: string[] } = {
  script: createScript([]),
  behaviour: {},
  events: [],
  statuses: []
};

/** Without a hook for statuses. */
export class Quiet extends Think {
  override getModel() {
    return scriptedModel(scene.script);
  }
  submitText(input: string, options: SubmitMessagesOptions = {}) {
    return this.runTurn({ mode: "submit", input, ...options });
  }
}

export class Clerk extends Quiet {
  override hydrationByteBudget = scene.behaviour.historyBytes ?? 0;
  override submissionRetentionMs = scene.behaviour.retentionMs;
  override observability = { emit: (event: AgentEvent) => void scene.events.push(event) };
  override getTools(): ToolSet {
    return scene.behaviour.tools?.(this) ?? {};
  }
  override async beforeTurn(context: TurnContext) {
    await scene.behaviour.beforeTurn?.(context);
  }
  protected override async onSubmissionStatus(submission: ThinkSubmissionInspection) {
    scene.statuses.push(`${submission.submissionId} ${submission.status}`);
    await scene.behaviour.status?.(submission, this);
  }
  say(id: string) {
    return this.saveMessages([user(id)]);
  }
  later(seconds: number) {
    return this.schedule(seconds, "submitLater");
  }
  async submitLater() {
    await this.submitMessages([user("later")]);
  }
  reset() {
    this.resetTurnState();
  }
  /** In a transaction of user code that is rolled back. */
  undoCancel(id: string) {
    try {
      this.ctx.storage.transactionSync(() => {
        void this.cancelSubmission(id);
        throw new Error("undone");
      });
    } catch {
      // That is the point.
    }
  }
}

export type Host = TestHost<{ Clerk: DurableObjectNamespace<Clerk> }>;

/** The last thing that was asked, as the prompt of a call shows it. */
export function asked(call: RecordedCall): string {
  const last = call.prompt.findLast(({ role }) => role === "user");
  if (!last || last.role === "system") return "";
  return last.content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** Answers every question with itself. */
export const echo: Steps = (call) => reply(text(`re ${asked(call)}`));

export function open(steps: Steps = echo, behaviour: Behaviour = {}): Host {
  Object.assign(scene, {
    script: createScript(steps, { maxCalls: 5_000 }),
    behaviour,
    events: [],
    statuses: []
  });
  return createTestHost({ agents: { Clerk } });
}

export const clerkOf = (host: Host) => host.get(Clerk, "a");

export const words = (messages: readonly UIMessage[]): string[] =>
  messages.map(
    ({ role, parts }) => `${role}: ${parts.map((part) => (part.type === "text" ? part.text : "")).join("")}`
  );

export async function said(host: Host): Promise<string[]> {
  const agent = await clerkOf(host);
  return words((await agent.getMessages()) as UIMessage[]);
}

export async function statusOf(host: Host, id: string): Promise<string | undefined> {
  return (await (await clerkOf(host)).inspectSubmission(id))?.status;
}

export const eventsOf = (prefix: string): string[] =>
  scene.events
    .filter(({ type }) => type.startsWith(prefix))
    .map(({ type, payload }) => {
      const { submissionId, status } = payload as { submissionId?: string; status?: string };
      return [type, submissionId, status].filter((part) => part !== undefined).join(" ");
    });

/** A model that stops inside the answer to one question until the gate is opened. */
export function gatedAt(question: string) {
  const gate = createGate();
  const steps: Steps = (call) =>
    asked(call) === question ? reply(text("part "), gate.wait(), text("whole")) : reply(text(`re ${asked(call)}`));
  return { gate, steps };
}

export async function submitted(host: Host, ...ids: string[]) {
  const agent = await clerkOf(host);
  return Promise.all(ids.map((id) => agent.submitMessages([user(`u-${id}`, id)], { submissionId: id })));
}
