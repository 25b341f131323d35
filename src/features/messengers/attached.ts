// What follows an answer: files of the model, and rendered attachments of actions. They are read when the turn is over and
// kept with the reply from then on: an answer that its provider holds up for an hour is still followed by its own
// attachments, whatever other turns have ended meanwhile.
import type { ReplyAttachment } from "../../feature/approval-contract.ts";
import type { ReplyFile } from "../channels/capability.ts";
import type { ChannelText } from "../../feature/channel-text.ts";
import type { ChatPostable } from "./chat-adapter.ts";
import type { AnswerJob, FollowUpJob, Inbox, MessengerReply } from "./inbox.ts";
import type { Uploads } from "./uploads.ts";

/** The agent that answered, in this object or another, as far as it is used. */
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

  /** Keeps what follows the reply, and is durable when it resolves. Another try of the same reply finds what was kept. */
  async keep(
    reply: MessengerReply & { readonly job: AnswerJob },
    target: AttachingTarget,
    requestId: string
  ): Promise<readonly FollowUpJob[]> {
    if (reply.job.attached) return reply.job.attached;
    const found = await findAttached(target, requestId);
    if (found.length === 0) return [];
    return this.#inbox.transaction(() => {
      const attached = found.map((one, index) => this.#toJob(keyOf(reply, index), one));
      this.#inbox.change(reply, { job: { ...reply.job, attached } });
      return attached;
    });
  }

  /** Adds the jobs, in the transaction that ends the reply. */
  release(reply: MessengerReply, jobs: readonly FollowUpJob[]): void {
    const { messengerId, threadId } = reply;
    for (const [index, job] of jobs.entries())
      this.#inbox.add({ messengerId, threadId, key: keyOf(reply, index), job });
  }

  /** Drops their files, in the transaction that gives the reply up. */
  drop(reply: MessengerReply): void {
    const { job } = reply;
    const attached = "attached" in job ? (job.attached ?? []) : [];
    for (const index of attached.keys()) this.#uploads.drop(keyOf(reply, index));
  }

  #toJob(key: string, attached: Attached): FollowUpJob {
    return "file" in attached
      ? { do: "upload", file: this.#uploads.keep(key, attached.file) }
      : { do: "say", message: attached.message };
  }
}

function keyOf({ key }: MessengerReply, index: number): string {
  return `${key}:attachment:${index}`;
}

/** Lists them in the order in which they are sent: the model's own files, then what actions attached. */
async function findAttached(target: AttachingTarget, requestId: string): Promise<Attached[]> {
  const files = await target.replyFiles(requestId);
  const attached: Attached[] = files.filter((file) => file.attachment === undefined).map((file) => ({ file }));
  for (const [index, attachment] of (await target.replyAttachments(requestId)).entries()) {
    const message = await render(target, attachment);
    const file = files.find((one) => one.attachment === index);
    if (message !== undefined) attached.push({ message });
    else if (file) attached.push({ file });
  }
  return attached;
}

/** Lets the class that answered render an attachment. One that cannot be rendered does not stop the next. */
async function render(target: AttachingTarget, attachment: ReplyAttachment): Promise<ChatPostable | undefined> {
  try {
    const text = await target.renderAttachment(attachment);
    return text === undefined ? undefined : toPostable(text);
  } catch (error) {
    console.error(`renderAttachment() failed for "${attachment.type}":`, error);
    return undefined;
  }
}

/** Makes a message for a provider of a text of the class. */
export function toPostable(text: ChannelText): ChatPostable {
  if (typeof text === "string") return text;
  return text.card ? { card: text.card, fallbackText: text.markdown } : { markdown: text.markdown };
}
