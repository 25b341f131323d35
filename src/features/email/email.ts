// E-mail that an agent sends. How it leaves is the deployment's: a `send_email` binding, or a function of the class. Says
// what is sent, and refuses what would add header lines; receiving is the Worker's `email()` handler and a method of the class.
import { ThinkError } from "../../util/errors.ts";

export type EmailAddress = string | { name?: string; email: string };

/** A mail as it leaves. */
export interface OutgoingEmail {
  to: EmailAddress | EmailAddress[];
  from: EmailAddress;
  replyTo?: EmailAddress;
  cc?: EmailAddress | EmailAddress[];
  bcc?: EmailAddress | EmailAddress[];
  subject: string;
  text?: string;
  html?: string;
  headers: Record<string, string>;
  /** The secret as the caller gave it, for a `deliverEmail` that signs. */
  secret?: string;
}

/** A `send_email` binding of the Worker. */
export interface EmailBinding {
  send(email: Omit<OutgoingEmail, "secret">): Promise<unknown>;
}

export interface SendEmailOptions extends Omit<OutgoingEmail, "headers"> {
  /** Default: the class's `deliverEmail`. */
  binding?: EmailBinding;
  headers?: Record<string, string>;
}

/** A mail that was received, as far as a reply needs it: the platform's message is one. */
export interface IncomingEmail {
  readonly from: string;
  readonly to: string;
  readonly headers: Pick<Headers, "get">;
}

export interface ReplyToEmailOptions {
  /** The name beside the sender's address. */
  fromName: string;
  body: string;
  /** Default: "Re: " and the subject of the mail. */
  subject?: string;
  /** The type of the body: "text/plain", the default, or "text/html". */
  contentType?: string;
  headers?: Record<string, string>;
  secret?: string | null;
  /** Default: the class's `deliverEmail`. */
  binding?: EmailBinding;
}

export type DeliverEmail = (email: OutgoingEmail) => Promise<unknown>;

/** A mail has no way to leave, or must not leave as it is. */
export class EmailNotSentError extends ThinkError {
  constructor(reason: string, hint: string) {
    super({ code: "email-not-sent", message: `The e-mail was not sent: ${reason}.`, hint });
  }
}

/** Sends a mail. Returns what the binding or the function returns. Throws EmailNotSentError. */
export async function sendEmail(options: SendEmailOptions, deliver: DeliverEmail | undefined): Promise<unknown> {
  const { binding, headers = {}, secret, ...fields } = options;
  const email = { ...fields, headers };
  checkHeaders(email);
  if (binding && secret === undefined) return binding.send(email);
  if (!binding && deliver) return deliver({ ...email, secret });
  if (binding) {
    throw new EmailNotSentError("a binding does not sign", "Set deliverEmail of the class: it is given the secret.");
  }
  throw new EmailNotSentError(
    "there is no way to send it",
    "Pass binding: this.env.EMAIL (a send_email binding), or set deliverEmail of the class to a function that sends."
  );
}

/** Makes the reply to a mail. */
export function makeReply(email: IncomingEmail, options: ReplyToEmailOptions): SendEmailOptions {
  const { fromName, body, contentType = "text/plain", headers = {}, secret, binding } = options;
  const messageId = email.headers.get("message-id");
  const thread: Record<string, string> =
    messageId === null ? {} : { "In-Reply-To": messageId, References: referencesOf(email, messageId) };
  return {
    to: email.from,
    from: { name: fromName, email: email.to },
    subject: options.subject ?? `Re: ${email.headers.get("subject") ?? ""}`.trim(),
    ...(contentType.startsWith("text/html") ? { html: body } : { text: body }),
    headers: { ...thread, ...headers },
    secret: secret ?? undefined,
    binding
  };
}

function referencesOf({ headers }: IncomingEmail, messageId: string): string {
  const earlier = headers.get("references")?.trim();
  return earlier ? `${earlier} ${messageId}` : messageId;
}

/** Refuses a line break in a header: it would begin another header, with recipients that the caller did not name. */
function checkHeaders({ to, cc, bcc, from, replyTo, subject, headers }: OutgoingEmail): void {
  const addresses = [to, cc, bcc, from, replyTo].flat().flatMap((address) => {
    if (address === undefined) return [];
    return typeof address === "string" ? [address] : [address.email, address.name ?? ""];
  });
  const texts = [subject, ...addresses, ...Object.entries(headers).flat()];
  if (texts.some((text) => /[\r\n\0]/.test(text))) {
    throw new EmailNotSentError("a header has a line break", "Remove it from the subject, addresses and headers.");
  }
}
