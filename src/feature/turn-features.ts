// What the features of an agent are asked in turns and about calls.
import type { UIMessage, UIMessageChunk } from "ai";
import type { CallOutcome } from "../journal/records.ts";
import { asMessagePart, isToolPart, toolNameOf, type TruncateOptions } from "../model/index.ts";
import type { ChatDecision, CutOffCall, FinalAnswer } from "../turn/hooks.ts";
import type { TurnView, TurnOutcome } from "../turn/turn.ts";
import { canonicalJson } from "../util/json.ts";
import type { TurnArchive } from "../journal/history.ts";
import type { Preserve } from "../session/media-evictor.ts";
import type { MaybePromise } from "../util/maybe-promise.ts";
import { NoSubmissionsError } from "./errors.ts";
import type { SubmitMessagesOptions, SubmitMessagesResult } from "./submission-types.ts";
import type { SubmissionInput } from "./turn-input.ts";
import type { ReplyAttachment } from "./approval-contract.ts";
import type { ChannelPolicy, TurnObserver } from "./feature.ts";
import { logFailure, type Features } from "./features.ts";
import { TurnParts } from "./turn-parts.ts";

type MessagePart = UIMessage["parts"][number];

export class TurnFeatures {
  readonly #features: Features;

  constructor(features: Features) {
    this.#features = features;
  }

  /** What they do in an attempt. Throws what a feature throws: the turn fails with it. */
  async inTurn(turn: TurnView): Promise<TurnParts> {
    this.#features.bringOrThrow();
    const parts = [];
    for (const feature of this.#features.with("inTurn")) {
      const part = await feature.inTurn(turn);
      if (part) parts.push(part);
    }
    return new TurnParts(parts);
  }

  /** One that cannot be reached costs its tools, not the turn. */
  async untilConnected(): Promise<void> {
    const waits = this.#features.with("untilConnected").map(async (feature) => {
      try {
        await feature.untilConnected();
      } catch (error) {
        console.warn(`Waiting for the feature "${feature.name}" failed:`, error);
      }
    });
    await Promise.all(waits);
  }

  /** Undefined: no feature has channels, and a turn's channel is only a name. Null: it is not the name of one. */
  channelPolicy(channel: string): ChannelPolicy | null | undefined {
    const features = this.#features.with("channelPolicy");
    if (features.length === 0) return undefined;
    for (const feature of features) {
      const policy = feature.channelPolicy(channel);
      if (policy) return policy;
    }
    return null;
  }

  /** The outputs that stay whole however old they are: those of tools the class names, and those of features. */
  keptOutputs(wholeOutputs: readonly string[] = []): NonNullable<TruncateOptions["keepOutput"]> {
    return (call) => {
      if (wholeOutputs.includes(call.toolName)) return `${call.toolName} ${canonicalJson(call.input)}`;
      for (const feature of this.#features.with("keepOutput")) {
        const key = feature.keepOutput(call);
        if (key !== undefined) return key;
      }
      return undefined;
    };
  }

  /** The first that has something to say about it. */
  finalAnswer(turn: TurnView, message: UIMessage | undefined): FinalAnswer | undefined {
    for (const feature of this.#features.with("finalAnswer")) {
      const final = feature.finalAnswer(turn, message);
      if (final) return final;
    }
    return undefined;
  }

  isOwnTool(turn: TurnView, toolName: string): boolean {
    return this.#features.with("isOwnTool").some((feature) => feature.isOwnTool(turn, toolName));
  }

  /** Of tools that no extension may take the place of. */
  toolNames(): string[] {
    return this.#features.with("toolNames").flatMap(({ toolNames }) => toolNames);
  }

  observers(): readonly TurnObserver[] {
    return this.#features.with("observer").map(({ observer }) => observer);
  }

  settled(turn: TurnView, outcome: TurnOutcome): void {
    for (const feature of this.#features.with("settled"))
      this.#features.guarded(feature, "settled", () => feature.settled(turn, outcome));
  }

  cleared(): void {
    this.#features.bringAll();
    for (const feature of this.#features.with("cleared")) feature.cleared();
  }

  runsTool(toolName: string): boolean {
    this.#features.bringAll();
    return this.#features.with("runsTool").some((feature) => feature.runsTool(toolName));
  }

  /** A call that was cut off, with its outcome where a feature has it. */
  settledPart(part: MessagePart, requestId: string): MessagePart | undefined {
    if (!isToolPart(part)) return undefined;
    this.#features.bringAll();
    const { toolCallId, input } = part;
    for (const feature of this.#features.with("lostOutcome")) {
      const known = feature.lostOutcome({ requestId, toolCallId, toolName: toolNameOf(part), input });
      if (known) return asMessagePart({ ...part, state: "output-available", output: known[0] ?? null });
    }
    return undefined;
  }

  keepsOutcome(turn: TurnView, call: Omit<CutOffCall, "input">): boolean {
    return this.#features
      .with("keepsOutcome")
      .some(
        (feature) => this.#features.guarded(feature, "keepsOutcome", () => feature.keepsOutcome(turn, call)) ?? false
      );
  }

  /** One that fails knows nothing of the call. */
  async lateOutcome(turn: TurnView, call: CutOffCall): Promise<CallOutcome | undefined> {
    for (const feature of this.#features.with("lateOutcome")) {
      try {
        const outcome = await feature.lateOutcome(turn, call);
        if (outcome) return outcome;
      } catch (error) {
        logFailure(feature, "lateOutcome", error);
      }
    }
    return undefined;
  }

  annotateRecovered(chunk: UIMessageChunk): UIMessageChunk {
    this.#features.bringAll();
    return this.#features.with("annotateRecovered").reduce((shown, feature) => feature.annotateRecovered(shown), chunk);
  }

  attachmentsOf(turnId: string): ReplyAttachment[] {
    this.#features.bringAll();
    return this.#features.with("attachmentsOf").flatMap((feature) => feature.attachmentsOf(turnId));
  }

  /** See `Features.adopt`. */
  adopt(carriers: Iterable<unknown>): void {
    this.#features.adopt(carriers);
  }

  // ── What one feature gives the conversation ──

  archive(): TurnArchive | undefined {
    return this.#features.with("archive")[0]?.archive;
  }

  gaveUp(): void {
    for (const feature of this.#features.with("gaveUp")) feature.gaveUp();
  }

  preserve(): Preserve | undefined {
    return this.#features.with("preserve")[0]?.preserve();
  }

  /** Throws NoSubmissionsError in a class that cannot submit. */
  async submit(input: SubmissionInput, options: SubmitMessagesOptions): Promise<SubmitMessagesResult> {
    const [feature] = this.#features.with("submit");
    if (!feature) throw new NoSubmissionsError();
    return feature.submit(input, options);
  }

  /** Without a feature that knows who decides, nobody is named. */
  approver(given: string | undefined): string | undefined {
    return this.#features.with("decisions")[0]?.decisions.approver(given);
  }

  approvalRefusal(asked: ChatDecision): MaybePromise<string | undefined> {
    return this.#features.with("decisions")[0]?.decisions.refusal(asked);
  }
}
