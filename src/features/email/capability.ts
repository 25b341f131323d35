// The part of every class that is about e-mail: public names. What they do is in `email.ts`.
import { makeReply, sendEmail, type DeliverEmail, type IncomingEmail } from "./email.ts";
import { capability } from "../../feature/capability.ts";
import type { ReplyToEmailOptions, SendEmailOptions } from "./email.ts";

export class EmailMembers {
  /**
   * Sends the mails of `sendEmail` and `replyToEmail` that name no binding. A field and no method, because the methods of a
   * class can be called over RPC.
   */
  deliverEmail: DeliverEmail | undefined = undefined;

  /**
   * Sends a mail by a `send_email` binding, or by `deliverEmail`. Returns what that returns.
   *
   * @example
   * await this.sendEmail({ binding: this.env.EMAIL, to, from: "hello@example.com", subject: "Welcome", text: "Hello!" });
   */
  sendEmail(options: SendEmailOptions): Promise<unknown> {
    return sendEmail(options, this.deliverEmail);
  }

  /** Answers a mail that the Worker's `email()` handler passed on, in its thread. */
  replyToEmail(email: IncomingEmail, options: ReplyToEmailOptions): Promise<unknown> {
    return sendEmail(makeReply(email, options), this.deliverEmail);
  }
}

export const email = capability({ name: "email", members: EmailMembers });
