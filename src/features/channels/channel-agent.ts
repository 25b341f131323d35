// The channels and messengers of an agent as its class has them: override points and delegation. `Think` extends it.
import type { UIMessage } from "ai";
import { assertCallerMayChange } from "../../agent/connections/readonly.ts";
import type { AgentPathStep } from "../../agent/tree/path.ts";
import type { PendingApproval } from "../actions/contract.ts";
import { SkillsAgent } from "../skills/skills-agent.ts";
import { channelRuntimeOf } from "./channel-runtime.ts";
import type {
  ChannelContext,
  ChannelText,
  DeliveryKind,
  MessengerCall,
  MessengerOrigin,
  MessengerSet,
  ThinkChannels
} from "./channels.ts";

export interface DeliverNoticeOptions {
  /** Default: the channel of the turn that calls; outside a turn `web`. */
  readonly channel?: string;
  /** Of a messenger's channel. Default: the thread of the turn that calls. */
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
  /** Under which a turn that this call starts can be cancelled. */
  readonly requestId: string;
  /** Become file parts of the message, and files of the workspace. */
  readonly files?: readonly MessengerFile[];
}

/** A file that a user sent. */
export interface MessengerFile {
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
  /** Where the workspace keeps it. */
  readonly path: string;
}

/** A file of an answer, for a messenger. */
export interface ReplyFile {
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
  /** Which of the turn's attachments it is; absent: the model's own. */
  readonly attachment?: number;
}

/** As much of an attachment as is needed to fetch it again. */
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

/** What became of a parked call. */
export interface ApprovalOutcome {
  readonly how: "approved" | "rejected" | "expired";
  /** Where a name is known. */
  readonly by: string | null;
}

export abstract class ChannelAgent<
  Env = unknown,
  State = unknown,
  Props extends Record<string, unknown> = Record<string, unknown>
> extends SkillsAgent<Env, State, Props> {
  /** Chat apps that this agent answers in; see `everthink/messengers`. Asked once per start. */
  getMessengers(): MessengerSet {
    return {};
  }

  /**
   * Whether a request or socket of a client may reach a conversation of a messenger: a sub-agent of a thread, or the agent
   * itself with `conversation: "self"`. Asked of the agent that has the messenger, before `onBeforeSubAgent`; webhooks, logins
   * to MCP servers, and inspectors that `authorizeInspection` lets in, are not asked about. The request is a copy: its body may
   * be read. Default: none.
   *
   * @example
   * async authorizeMessengerConversation(request: Request) {
   *   return (await staffOf(request)) !== undefined;
   * }
   */
  authorizeMessengerConversation(_request: Request, _conversation: AgentPathStep): boolean | Promise<boolean> {
    return false;
  }

  /** Further surfaces, and what each changes about its turns. Asked once per start. */
  configureChannels(): ThinkChannels | Promise<ThinkChannels> {
    return {};
  }

  /** The channel of the turn that calls; undefined outside a turn, and in one without a channel. */
  get activeChannel(): ChannelContext | undefined {
    return channelRuntimeOf(this).active();
  }

  /** The event behind the running turn, or behind the newest message; undefined if no messenger is. */
  getMessengerContext<Context extends MessengerOrigin = MessengerOrigin>(): Context | undefined {
    // Stored by the messenger as the context it is.
    return channelRuntimeOf(this).messengerOrigin() as Context | undefined;
  }

  /** Sends a text without a model turn. Resolves when it is durable; throws if there is no way to that channel. */
  async deliverNotice(text: ChannelText, options: DeliverNoticeOptions = {}): Promise<void> {
    assertCallerMayChange(this);
    await channelRuntimeOf(this).deliver(text, options);
  }

  /**
   * The bytes of a file that a user sent, fetched from the provider, also after a restart and in a sub-agent.
   * `messengerId`: default that of the running turn, or of the newest message. Throws what the provider's adapter throws.
   */
  async fetchMessengerAttachment(attachment: FetchableAttachment, messengerId?: string): Promise<ArrayBuffer> {
    return channelRuntimeOf(this).fetchAttachment(attachment, messengerId);
  }

  /** For the messengers of this package: the files of a turn's answer. */
  replyFiles(requestId: string): Promise<ReplyFile[]> {
    return channelRuntimeOf(this).replyFiles(requestId);
  }

  /** For the messengers of this package: what waits for a human, after a restart too. */
  waitingApprovals(executionId?: string): Promise<PendingApproval[]> {
    return channelRuntimeOf(this).waitingApprovals(executionId);
  }

  /** For the messengers of this package: who decided over a parked call. Undefined: no outcome of it is stored. */
  async approvalOutcome(toolCallId: string): Promise<ApprovalOutcome | undefined> {
    return channelRuntimeOf(this).approvalOutcome(toolCallId);
  }

  /** For the messengers of this package: runs one turn and reports its text as it grows. */
  answerMessenger(question: MessengerQuestion, onText: (delta: string) => unknown): Promise<MessengerAnswer> {
    return channelRuntimeOf(this).answer(question, onText);
  }

  /** For the messengers of this package: what a sub-agent asks of its root. */
  async messengerCall(call: MessengerCall): Promise<void> {
    await channelRuntimeOf(this).receive(call);
  }
}
