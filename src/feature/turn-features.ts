// What the features of an agent are asked in turns and about calls.
import type { UIMessage, UIMessageChunk } from "ai";
import type { CallOutcome } from "../journal/records.ts";
import { asMessagePart, isToolPart, toolNameOf, type TruncateOptions } from "../model/index.ts";
import type { CutOffCall, FinalAnswer, TurnHooks } from "../turn/hooks.ts";
import type { TurnView, TurnOutcome } from "../turn/turn.ts";
import { canonicalJson } from "../util/json.ts";
import type { MaybePromise } from "../util/maybe-promise.ts";
import type { TurnArchive } from "../journal/history.ts";
import type { Preserve } from "../session/media-evictor.ts";
import { featureErrors } from "./errors.ts";
import type { SubmitMessagesOptions, SubmitMessagesResult } from "./submission-types.ts";
import type { SubmissionInput } from "./turn-input.ts";
import type { ReplyAttachment } from "./approval-contract.ts";
import type { TurnCost } from "./budget-contract.ts";
import type { CallOwner, ChannelPolicy, Feature, TurnObserver } from "./feature.ts";
import { logFailure } from "./feature-list.ts";
import type { Features } from "./features.ts";
import type { DeferredTools, DiscoveryTurn } from "./tool-discovery.ts";
import { DEFERRABLE_LAYERS } from "./tool-layers.ts";
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

  /** What cannot be reached costs its tools, not the turn. */
  async untilConnected(): Promise<void> {
    try {
      await this.#features.role("untilConnected")?.();
    } catch (error) {
      console.warn("Waiting for tools that are still connecting failed:", error);
    }
  }

  /** Undefined: the agent has no channels, and a turn's channel is only a name. Null: it is not the name of one. */
  channelPolicy(channel: string): ChannelPolicy | null | undefined {
    const policy = this.#features.role("channelPolicy");
    return policy && (policy(channel) ?? null);
  }

  /** The outputs that stay whole however old they are: those of tools the class names, and those of features. */
  keptOutputs(wholeOutputs: readonly string[] = []): NonNullable<TruncateOptions["keepOutput"]> {
    return (call) => {
      if (wholeOutputs.includes(call.toolName)) return `${call.toolName} ${canonicalJson(call.input)}`;
      for (const { calls } of this.#callOwners("keepOutput")) {
        const key = calls.keepOutput(call);
        if (key !== undefined) return key;
      }
      return undefined;
    };
  }

  /** Undefined: all tools are offered. */
  deferredTools(turn: DiscoveryTurn): MaybePromise<DeferredTools | undefined> {
    const { layerOf } = turn.merged;
    for (const layer of layerOf.values()) {
      if (DEFERRABLE_LAYERS.has(layer)) return this.#features.role("toolDiscovery")?.defer(turn);
    }
    return undefined;
  }

  finalAnswer(turn: TurnView, message: UIMessage | undefined): FinalAnswer | undefined {
    return this.#features.role("finalAnswers")?.finalAnswer(turn, message);
  }

  isOwnTool(turn: TurnView, toolName: string): boolean {
    return this.#features.role("finalAnswers")?.isOwnTool(turn, toolName) ?? false;
  }

  /** Of tools that no extension may take the place of. */
  toolNames(): string[] {
    return this.#features.with("toolNames").flatMap(({ toolNames }) => toolNames);
  }

  get nextModel(): TurnHooks["nextModel"] {
    return this.#features.role("nextModel");
  }

  observer(): TurnObserver | undefined {
    return this.#features.role("observer");
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
    return this.#callOwners("runsTool").some(({ calls }) => calls.runsTool(toolName));
  }

  /** A call that was cut off, with its outcome where a feature has it. */
  settledPart(part: MessagePart, requestId: string): MessagePart | undefined {
    if (!isToolPart(part)) return undefined;
    this.#features.bringAll();
    const { toolCallId, input } = part;
    for (const { calls } of this.#callOwners("lostOutcome")) {
      const known = calls.lostOutcome({ requestId, toolCallId, toolName: toolNameOf(part), input });
      if (known) return asMessagePart({ ...part, state: "output-available", output: known[0] ?? null });
    }
    return undefined;
  }

  keepsOutcome(turn: TurnView, call: Omit<CutOffCall, "input">): boolean {
    return this.#callOwners("keepsOutcome").some(
      ({ feature, calls }) =>
        this.#features.guarded(feature, "keepsOutcome", () => calls.keepsOutcome(turn, call)) ?? false
    );
  }

  /** One that fails knows nothing of the call. */
  async lateOutcome(turn: TurnView, call: CutOffCall): Promise<CallOutcome | undefined> {
    for (const { feature, calls } of this.#callOwners("lateOutcome")) {
      try {
        const outcome = await calls.lateOutcome(turn, call);
        if (outcome) return outcome;
      } catch (error) {
        logFailure(feature, "lateOutcome", error);
      }
    }
    return undefined;
  }

  annotateRecovered(chunk: UIMessageChunk): UIMessageChunk {
    this.#features.bringAll();
    return this.#callOwners("annotateRecovered").reduce((shown, { calls }) => calls.annotateRecovered(shown), chunk);
  }

  attachmentsOf(turnId: string): ReplyAttachment[] {
    this.#features.bringAll();
    return this.#features.role("attachmentsOf")?.(turnId) ?? [];
  }

  /** Never rejects: a turn is over, whatever its account says. */
  async costOf(turnId: string): Promise<TurnCost | undefined> {
    try {
      return await this.#features.role("budgets")?.costOf(turnId);
    } catch (error) {
      console.error("What a turn has cost could not be read:", error);
      return undefined;
    }
  }

  /** See `Features.adopt`. */
  adopt(carriers: Iterable<unknown>): void {
    this.#features.adopt(carriers);
  }

  /** Features that know something of this kind about calls. */
  #callOwners<Member extends keyof CallOwner>(
    member: Member
  ): { readonly feature: Feature; readonly calls: Required<Pick<CallOwner, Member>> }[] {
    return this.#features.with("calls").flatMap((feature) => {
      const { calls } = feature;
      return calls[member] === undefined ? [] : [{ feature, calls: calls as Required<Pick<CallOwner, Member>> }];
    });
  }

  // ── What one feature does for the conversation ──

  archive(): TurnArchive | undefined {
    return this.#features.role("submissions")?.archive;
  }

  gaveUp(): void {
    this.#features.role("submissions")?.gaveUp();
  }

  preserve(): Preserve | undefined {
    return this.#features.role("preserve")?.();
  }

  /** Throws NoSubmissionsError in a class that cannot submit. */
  async submit(input: SubmissionInput, options: SubmitMessagesOptions): Promise<SubmitMessagesResult> {
    const submissions = this.#features.role("submissions");
    if (!submissions) throw featureErrors.NoSubmissionsError();
    return submissions.submit(input, options);
  }

  /** Without it no person is named, and every caller may decide. */
  get decideCall(): TurnHooks["decideCall"] {
    return this.#features.role("decideCall");
  }
}
