// Channels and messengers as a capability: override points and public names.
import type { UIMessage } from "ai";
import type { AgentPathStep } from "../../host/path.ts";
import type { ActionOutput, Decision, PendingApproval } from "../../feature/approval-contract.ts";
import { approvals } from "../approvals/capability.ts";
import { workspace } from "../workspace/capability.ts";
import { capability, chatCapability } from "../../feature/capability.ts";
import type { ChannelText } from "../../feature/channel-text.ts";
import { channelErrors } from "./errors.ts";
import { isOverridden } from "../../feature/members.ts";
import type { ChatOptions, StreamCallback } from "../../feature/stream-callback.ts";
import { openChannels } from "./feature.ts";
import { MessengerAccess } from "./messenger-access.ts";
import { withOrigin } from "./channel-origin.ts";
import type {
  ChannelContext,
  DeliveryKind,
  MessengerCall,
  MessengerOrigin,
  MessengerSet,
  MessengersFeature,
  ThinkChannels
} from "./channels.ts";

export interface DeliverNoticeOptions {
  /** Default: the channel of the turn that calls; outside a turn `web`. */
  readonly channel?: string;
  /** The thread of a messenger's channel. Default: that of the turn that calls. */
  readonly thread?: string;
  /** Whether the model reads later that it was sent. A notice for `web` is part of the transcript either way. */
  readonly informModel?: boolean;
  readonly kind?: DeliveryKind;
}

/** A message of a messenger for one of its conversations. */
export interface MessengerQuestion {
  readonly message: UIMessage;
  readonly channel: string;
  /** A second call with the same key follows the turn of the first. */
  readonly key: string;
  /** The id under which a turn that this call starts can be cancelled. */
  readonly requestId: string;
  /** Files that become parts of the message, and files of the workspace. */
  readonly files?: readonly MessengerFile[];
}

/** A message for the turn that answers its thread. */
export interface SteeringQuestion extends Omit<MessengerQuestion, "requestId"> {
  /** Whether to wait until it is known who answers it. */
  readonly waits: boolean;
}

/** Who answers a message of a messenger: it waits for the running turn, that turn's reply does, or it is asked by itself. */
export type SteeredMessenger = "waits" | "answered" | "ask";

/** A file that a user sent. */
export interface MessengerFile {
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
  /** The path at which the workspace keeps the file. */
  readonly path: string;
}

/** A file of an answer, for a messenger. */
export interface ReplyFile {
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
  /** The number of the turn's attachment that it is; absent: the file is the model's own. */
  readonly attachment?: number;
}

/** An attachment, as far as it is needed to fetch the file again. */
export interface FetchableAttachment {
  readonly name?: string;
  readonly mediaType?: string;
  readonly size?: number;
  readonly url?: string;
  readonly fetchMetadata?: Record<string, string>;
}

export interface MessengerAnswer {
  readonly requestId: string;
  readonly status: "completed" | "error" | "aborted" | "skipped";
  readonly text: string;
}

/** Which approvals are meant; without any of it all that are parked. */
export interface AskedAbout {
  readonly executionId?: string;
  /** Those that a turn asked for, also inside its answer. */
  readonly requestId?: string;
  /** Calls that were asked about inside an answer, beside all that are parked. */
  readonly callIds?: readonly string[];
}

/** The end of a parked call's wait. */
export interface ApprovalOutcome {
  readonly how: "approved" | "rejected" | "expired";
  /** Who decided, where a name is known. */
  readonly by: string | null;
}

export class ChannelMembers {
  static readonly changes = ["deliverNotice", "decideCall"] satisfies (keyof ChannelMembers)[];

  /**
   * Lists the chat apps that this agent answers in; see `everthink/messengers`. Called once per start.
   * @example
   * getMessengers() {
   *   const { TELEGRAM_BOT_TOKEN: token, TELEGRAM_WEBHOOK_SECRET_TOKEN: secretToken } = this.env;
   *   return defineMessengers({ telegram: telegramMessenger({ token, userName: "support_bot", secretToken }) });
   * }
   */
  getMessengers(): MessengerSet {
    return {};
  }

  /**
   * Says whether a request or socket of a client may reach a conversation of a messenger: a sub-agent of a thread, or the agent
   * itself with `conversation: "self"`. It is called on the agent that has the messenger, before `onBeforeSubAgent`, but not for
   * webhooks, for logins to MCP servers, and for inspectors that `authorizeInspection` lets in. The request is a copy: its body
   * may be read. Default: none.
   *
   * @example
   * async authorizeMessengerConversation(request: Request) {
   *   return (await staffOf(request)) !== undefined;
   * }
   */
  authorizeMessengerConversation(_request: Request, _conversation: AgentPathStep): boolean | Promise<boolean> {
    return false;
  }

  /**
   * Declares further surfaces, and what each changes about its turns. Called once per start.
   * @example
   * configureChannels() {
   *   return defineChannels({ web: { kind: "web", instructions: "Answer with headings and tables." } });
   * }
   */
  configureChannels(): ThinkChannels | Promise<ThinkChannels> {
    return {};
  }

  /** The channel of the turn that calls; undefined outside a turn, and in one without a channel. */
  get activeChannel(): ChannelContext | undefined {
    return channels.of(this).runtime.active();
  }

  /** Gives the event behind the running turn, or behind the newest message; undefined if no messenger is. */
  getMessengerContext<Context extends MessengerOrigin = MessengerOrigin>(): Context | undefined {
    // Stored by the messenger as the context it is.
    return channels.of(this).runtime.messengerOrigin() as Context | undefined;
  }

  /** Sends a text without a model turn. Resolves when it is durable; throws if there is no way to that channel. */
  async deliverNotice(text: ChannelText, options: DeliverNoticeOptions = {}): Promise<void> {
    await channels.of(this).runtime.deliver(text, options);
  }

  /**
   * Fetches a file that a user sent from the provider, also after a restart and in a sub-agent. `messengerId`: default that of
   * the running turn, or of the newest message. Throws what the provider's adapter throws.
   */
  async fetchMessengerAttachment(attachment: FetchableAttachment, messengerId?: string): Promise<ArrayBuffer> {
    return channels.of(this).runtime.fetchAttachment(attachment, messengerId);
  }

  /** Reads the files of a turn's answer, for the messengers of this package. */
  replyFiles(requestId: string): Promise<ReplyFile[]> {
    return channels.of(this).runtime.replyFiles(requestId);
  }

  /** Lists what waits for a human, after a restart too, for the messengers of this package. */
  waitingApprovals(about: AskedAbout = {}): Promise<PendingApproval[]> {
    return channels.of(this).runtime.waitingApprovals(about);
  }

  /** Decides over a call that was asked about inside an answer, for the messengers of this package. */
  decideCall(callId: string, decision: Decision): Promise<ActionOutput> {
    return approvals.of(this).decide(callId, decision);
  }

  /** Says who decided over a parked call, for the messengers of this package. Undefined: no outcome of it is stored. */
  async approvalOutcome(toolCallId: string): Promise<ApprovalOutcome | undefined> {
    return channels.of(this).runtime.approvalOutcomes([toolCallId])[0];
  }

  /** Says the same of several calls, in their order. */
  async approvalOutcomes(toolCallIds: readonly string[]): Promise<(ApprovalOutcome | undefined)[]> {
    return channels.of(this).runtime.approvalOutcomes(toolCallIds);
  }

  /** Does what `chat` does for a question that came through a messenger, whose event `getMessengerContext()` then gives. */
  async chatWithMessengerContext(
    message: UIMessage,
    callback: StreamCallback,
    ...[context, options]: [context: MessengerOrigin, options?: ChatOptions]
  ): Promise<void> {
    // Every class with channels has it.
    const think = this as object as {
      chat(input: UIMessage, callback: StreamCallback, options?: ChatOptions): Promise<void>;
    };
    return think.chat(withOrigin(message, context), callback, { ...options, channel: context.messengerId });
  }

  /** Runs one turn and reports its text as it grows, for the messengers of this package. */
  answerMessenger(question: MessengerQuestion, onText: (delta: string) => unknown): Promise<MessengerAnswer> {
    return channels.of(this).runtime.answer(question, onText);
  }

  /** Gives a message to the turn that answers its thread, for the messengers of this package. */
  steerMessenger(question: SteeringQuestion): Promise<SteeredMessenger> {
    return channels.of(this).runtime.steer(question);
  }

  /** Takes a call of a sub-agent to its root, for the messengers of this package. */
  async messengerCall(call: MessengerCall): Promise<void> {
    await channels.of(this).runtime.receive(call);
  }
}

function hasChannels(agent: object): boolean {
  return isOverridden(agent, "getMessengers") || isOverridden(agent, "configureChannels");
}

/** It is a capability of its own: whatever fails in the class's channels, conversations of messengers stay closed. */
export const messengerAccess = capability({
  name: "messenger-access",
  feature: (services) => new MessengerAccess(services)
});

/** Every conversation opens it: it keeps what once was a messenger's private, and serves a root's messengers as a sub-agent. */
export const channels = chatCapability({
  name: "channels",
  members: ChannelMembers,
  requires: [approvals, workspace, messengerAccess],
  feature: openChannels
});

/** The feature that serves messengers comes with the first of them, which may also be declared as a channel. */
export const messengers = chatCapability<MessengersFeature, object, readonly [typeof channels]>({
  name: "messengers",
  requires: [channels],
  isUsed: hasChannels,
  carried: {
    method: "getMessengers",
    read: (agent) => channels.of(agent).declared.messengers,
    refuse: channelErrors.MessengerMapError
  }
});
