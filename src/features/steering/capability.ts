// Messages for a busy conversation as a capability: public names and the hook.
import type { UIMessage } from "ai";
import { currentContext } from "../../agent/context.ts";
import { chatCapability } from "../../feature/capability.ts";
import type { SubmissionInput } from "../../feature/turn-input.ts";
import type { Receipt } from "../../turn/receipts.ts";
import type { MaybePromise } from "../../util/maybe-promise.ts";
import { openSteering } from "./feature.ts";

export interface SteerOptions {
  /** Under an id that is known nothing is accepted: its receipt is returned. Default: a new one. */
  readonly id?: string;
  /** Custom fields for the hooks of the turn that it becomes. Default: those of the running turn. */
  readonly body?: Record<string, unknown>;
  /** Default: the channel of the running turn. */
  readonly channel?: string;
}

/** A message before it is accepted. */
export interface SteerContext {
  readonly id: string;
  readonly kind: Receipt["kind"];
  readonly messages: readonly UIMessage[];
  /** The turn that has begun; undefined: the message is a turn at once. */
  readonly running: { readonly turnId: string; readonly requestId: string } | undefined;
}

/** What becomes of the message. Nothing means that it is taken as it is. */
export type SteerDecision =
  | {
      action: "refuse";
      /** Shown to its sender. */
      reason?: string;
    }
  | {
      action: "accept";
      /** In place of what was sent. */
      input?: SubmissionInput;
      /** In place of how it was sent. */
      kind?: Receipt["kind"];
    };

export class SteeringMembers {
  static readonly changes = [
    "steer",
    "followUp",
    "editQueued",
    "withdrawQueued",
    "stopAfterStep"
  ] satisfies (keyof SteeringMembers)[];

  /**
   * Gives a message to the running turn: durable when it returns, read by the model after the tools that run and before its
   * next call. A turn that makes no further call ends first, and an idle conversation begins a turn. Also from inside a turn.
   *
   * @example
   * const receipt = await agent.steer("Only the last three years.");
   */
  async steer(input: SubmissionInput, options: SteerOptions = {}): Promise<Receipt> {
    return steering.of(this).accept({ ...options, kind: "steer", input, isFromClient: isFromClient() });
  }

  /** Gives a message for after the turns that run and wait. Durable when it returns. */
  async followUp(input: SubmissionInput, options: SteerOptions = {}): Promise<Receipt> {
    return steering.of(this).accept({ ...options, kind: "follow-up", input, isFromClient: isFromClient() });
  }

  /** Replaces what a waiting message says. Throws NotWaitingError ("not-waiting") after it took effect. */
  async editQueued(id: string, input: SubmissionInput): Promise<Receipt> {
    return steering.of(this).edit(id, input);
  }

  /** Takes a waiting message back: the model never reads it. Throws NotWaitingError ("not-waiting") after it took effect. */
  async withdrawQueued(id: string): Promise<Receipt> {
    return steering.of(this).withdraw(id);
  }

  /** Messages that wait, in the order in which they will take effect. */
  async listQueued(): Promise<Receipt[]> {
    return steering.of(this).list();
  }

  /** What became of a message, as long as its records are kept. */
  async inspectReceipt(id: string): Promise<Receipt | null> {
    return steering.of(this).inspect(id);
  }

  /** Ends a turn before its next model call, as completed, with what it has. Default: the one that runs. False: none does. */
  async stopAfterStep(requestId?: string): Promise<boolean> {
    return steering.of(this).stopAfterStep(requestId);
  }

  /**
   * Called before a steer or a follow-up is accepted, within 10 seconds. A throw refuses it.
   * @example
   * onSteer({ kind }: SteerContext): SteerDecision | void {
   *   if (kind === "steer" && this.isPublishing) return { action: "accept", kind: "follow-up" };
   * }
   */
  protected onSteer(_context: SteerContext): MaybePromise<SteerDecision | void> {}
}

/** A class that steers nothing has no row, no frame and no call of it. */
export const steering = chatCapability({
  name: "steering",
  members: SteeringMembers,
  feature: openSteering
});

function isFromClient(): boolean {
  return currentContext().connection !== undefined;
}
