// The public names of e-mail on the class.
// Its declarations name no type of `ai` and not the capability: a project with a plain `Agent` is type-checked without
// that package.
import {
  makeReply,
  sendEmail,
  type DeliverEmail,
  type IncomingEmail,
  type ReplyToEmailOptions,
  type SendEmailOptions
} from "./email.ts";

export class EmailMembers {
  /**
   * Sends the mails of `sendEmail` and `replyToEmail` that name no binding. A field and no method, because the methods of a
   * class can be called over RPC.
   * @example
   * deliverEmail = async ({ secret: _secret, ...email }: OutgoingEmail) => {
   *   const sent = await fetch("https://mail.example.com/send", { method: "POST", body: JSON.stringify(email) });
   *   if (!sent.ok) throw new Error(`The mail was not sent: ${sent.status}`);
   * };
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
