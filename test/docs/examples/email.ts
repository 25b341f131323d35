import { Agent, type IncomingEmail, type OutgoingEmail } from "everthink/agent";

interface Env {
  readonly MAIL_KEY?: string;
}

export class Support extends Agent<Env> {
  override deliverEmail = async (email: OutgoingEmail) => {
    await fetch("https://mail.example.com/send", { method: "POST", body: JSON.stringify(email) });
  };
  received(email: IncomingEmail) {
    return this.replyToEmail(email, { fromName: "Support", body: "We are on it." });
  }
}
