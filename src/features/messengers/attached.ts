// What follows an answer: files of the model, and what actions attached, rendered. It is read when the turn is over and kept
// with the reply from then on: an answer that its provider holds up for an hour is still followed by its own attachments,
// whatever other turns have ended meanwhile.
import type { ReplyAttachment } from "../../feature/approval-contract.ts";
import type { ReplyFile } from "../channels/capability.ts";
import type { ChannelText } from "../channels/channels.ts";
import type { ChatPostable } from "./chat-adapter.ts";
import type { AnswerJob, FollowUpJob, Inbox, MessengerReply } from "./inbox.ts";
import type { Uploads } from "./uploads.ts";

/** What is used of the agent that answered, in this object or another. */
export interface AttachingTarget {
  replyAttachments(requestId: string): ReplyAttachment[] | Promise<ReplyAttachment[]>;
  replyFiles(requestId: string): Promise<ReplyFile[]>;
  renderAttachment(attachment: ReplyAttachment): ChannelText | undefined | Promise<ChannelText | undefined>;
}

type Attached = { readonly message: ChatPostable } | { readonly file: ReplyFile };

export class AttachedJobs {
  readonly #inbox: Inbox;
  readonly #uploads: Uploads;

  constructor(inbox: Inbox, uploads: Uploads) {
    this.#inbox = inbox;
    this.#uploads = uploads;
  }

  /** Durable when it resolves. Another try of the same reply finds what was kept. */
  async keep(
    reply: MessengerReply & { readonly job: AnswerJob },
    target: AttachingTarget,
    requestId: string
  ): Promise<readonly FollowUpJob[]> {
    if (reply.job.attached) return reply.job.attached;
    const found = await attachedOf(target, requestId);
    if (found.length === 0) return [];
    return this.#inbox.transaction(() => {
      const attached = found.map((one, index) => this.#jobOf(keyOf(reply, index), one));
      this.#inbox.changeJob(reply.key, { ...reply.job, attached });
      return attached;
    });
  }

  /** Part of the transaction that ends the reply. */
  release(reply: MessengerReply, jobs: readonly FollowUpJob[]): void {
    const { messengerId, threadId } = reply;
    for (const [index, job] of jobs.entries())
      this.#inbox.add({ messengerId, threadId, key: keyOf(reply, index), job });
  }

  /** Part of the transaction that gives the reply up. */
  drop(reply: MessengerReply): void {
    // As it is now: the caller may have read it before its turn was over.
    const { job } = this.#inbox.find(reply.key) ?? reply;
    const attached = "attached" in job ? (job.attached ?? []) : [];
    for (const index of attached.keys()) this.#uploads.drop(keyOf(reply, index));
  }

  #jobOf(key: string, attached: Attached): FollowUpJob {
    return "file" in attached
      ? { do: "upload", file: this.#uploads.keep(key, attached.file) }
      : { do: "say", message: attached.message };
  }
}

function keyOf({ key }: MessengerReply, index: number): string {
  return `${key}:attachment:${index}`;
}

/** In the order in which they are sent: the model's own files, then what actions attached. */
async function attachedOf(target: AttachingTarget, requestId: string): Promise<Attached[]> {
  const files = await target.replyFiles(requestId);
  const attached: Attached[] = files.filter((file) => file.attachment === undefined).map((file) => ({ file }));
  for (const [index, attachment] of (await target.replyAttachments(requestId)).entries()) {
    const message = await rendered(target, attachment);
    const file = files.find((one) => one.attachment === index);
    if (message !== undefined) attached.push({ message });
    else if (file) attached.push({ file });
  }
  return attached;
}

/** By the class that answered. One that cannot be rendered does not stop the next. */
async function rendered(target: AttachingTarget, attachment: ReplyAttachment): Promise<ChatPostable | undefined> {
  try {
    const text = await target.renderAttachment(attachment);
    return text === undefined ? undefined : postableOf(text);
  } catch (error) {
    console.error(`renderAttachment() failed for "${attachment.type}":`, error);
    return undefined;
  }
}

/** A text of the class as a message of a provider. */
export function postableOf(text: ChannelText): ChatPostable {
  if (typeof text === "string") return text;
  return text.card ? { card: text.card, fallbackText: text.markdown } : { markdown: text.markdown };
}
