// Conversations of messengers are private: a client reaches one by a URL or a socket only if the class opens it. The rule for
// all classes is agent/tree/closed-conversations.ts; here is what becomes a messenger's, and what the class lets in. Code of
// the server, which calls methods of a stub, is not asked about.
import { ClosedConversations, CLAIM_TABLES, SELF } from "../../agent/tree/closed-conversations.ts";
import type { Feature, Roles } from "../../feature/feature.ts";
import type { AgentPathStep } from "../../host/path.ts";
import type { MessengerSet } from "./channels.ts";
import { isOverridden } from "../../feature/members.ts";
import type { Services } from "../../feature/services.ts";
import { runtimeOf } from "../../agent/runtime.ts";
import { channels, messengers, type ChannelMembers } from "./capability.ts";

/** The close code for sockets of a conversation that a messenger takes over: their clients may come back, and are asked about then. */
const TAKEN_OVER = { code: 1012, reason: "This conversation belongs to a messenger now" };

export class MessengerAccess extends ClosedConversations implements Feature {
  readonly name = "messenger-access";
  readonly tables = CLAIM_TABLES;
  readonly roles: Pick<Roles, "access"> = { access: this };
  readonly #agent: ChannelMembers;

  constructor({ agent }: Services) {
    super(runtimeOf(agent));
    // Only agents with these members open it.
    this.#agent = agent as ChannelMembers;
  }

  /** Makes a conversation a messenger's. Sockets that clients opened before are closed. */
  claim(conversation: AgentPathStep | "self"): void {
    const step = conversation === "self" ? SELF : conversation;
    if (this.isMessengers(step)) return;
    this.#add(step);
    // With a messenger that says so, clients have been asked about from the start.
    if (conversation === "self" && this.#declaresSelf()) return;
    this.runtime.tree.closeSockets(conversation === "self" ? undefined : conversation, TAKEN_OVER);
  }

  /** Notes that a messenger brings a message to this agent, whose class need not declare it. */
  broughtBy(messengerId: string): void {
    const messenger = { className: SELF.className, name: messengerId };
    if (!(messengerId in this.#declared) && !this.isClaimed(messenger)) this.#add(messenger);
  }

  /** Lists the ids of the messengers that this class declares, and of others that have brought messages to this agent. */
  override identities(): string[] {
    const others = this.table.all<{ name: string }>(
      "SELECT name FROM cf_messenger_conversations WHERE class_name = '' AND name <> ''"
    );
    return [...Object.keys(this.#declared), ...others.map(({ name }) => name)];
  }

  protected override async isOpened(request: Request, conversation: AgentPathStep): Promise<boolean> {
    if (!isOverridden(this.#agent, "authorizeMessengerConversation")) return false;
    return this.ask(() => this.#agent.authorizeMessengerConversation(request.clone() as Request, conversation));
  }

  protected override isWebhook(path: string): boolean {
    return messengers.find(this.#agent)?.isWebhook(path) ?? false;
  }

  protected override answersItself(): boolean {
    return this.#declaresSelf() || super.answersItself();
  }

  get #declared(): MessengerSet {
    return channels.of(this.#agent).declared.messengers;
  }

  #declaresSelf(): boolean {
    return Object.values(this.#declared).some(({ conversation }) => conversation === "self");
  }

  #add({ className, name }: AgentPathStep): void {
    this.table.run("INSERT INTO cf_messenger_conversations (class_name, name) VALUES (?, ?)", className, name);
  }
}
