// Conversations of messengers are private: a client reaches one by a URL or a socket only if the class opens it. The rule
// is applied where a request comes in, before the sub-agent is woken, and names what is let through instead of what is not.
// Code of the server, which calls methods of a stub, is not asked about.
import { jsonResponse } from "../../util/json.ts";
import { isUpgrade } from "../../agent/connections/upgrade.ts";
import type { AddressedChild, Feature, InspectorRole, Roles } from "../../feature/feature.ts";
import { pathBelowAgent } from "../../agent/own-path.ts";
import type { AgentPathStep } from "../../host/path.ts";
import { TableSet, type TableDefinition } from "../../host/table-set.ts";
import { CONVERSATION_PREFIX, type MessengerSet } from "./channels.ts";
import { isOverridden } from "../../feature/members.ts";
import type { Services } from "../../feature/services.ts";
import { runtimeOf, type AgentRuntime } from "../../agent/runtime.ts";
import { channels, messengers, type ChannelMembers } from "./capability.ts";
import { WarnOnce } from "../../util/warn-once.ts";

/** The close code for sockets of a conversation that a messenger takes over: their clients may come back, and are asked about then. */
const TAKEN_OVER = { code: 1012, reason: "This conversation belongs to a messenger now" };

/** Stands for the agent itself in the table. */
const SELF: AgentPathStep = { className: "", name: "" };

export const CLAIM_TABLES: readonly TableDefinition[] = [
  // Bound: one row per conversation for which the class chose the name; without a class name, one per messenger of another
  // class that brings messages to this agent. Deleted: with the sub-agent, and with the agent.
  {
    name: "cf_messenger_conversations",
    create: [
      `CREATE TABLE cf_messenger_conversations (class_name TEXT NOT NULL, name TEXT NOT NULL,
        PRIMARY KEY (class_name, name)) WITHOUT ROWID`
    ]
  }
];

const warnings = new WarnOnce();

export class MessengerAccess implements Feature {
  readonly name = "messenger-access";
  readonly tables = CLAIM_TABLES;
  readonly roles: Pick<Roles, "access"> = { access: this };
  readonly #runtime: AgentRuntime;
  readonly #agent: ChannelMembers;
  readonly #table: TableSet;
  /** Requests that the class has let in: it is asked once about each. */
  readonly #allowed = new WeakSet<Request>();

  constructor({ agent, sql }: Services) {
    this.#runtime = runtimeOf(agent);
    // Only agents with these members open it.
    this.#agent = agent as ChannelMembers;
    this.#table = new TableSet(sql, CLAIM_TABLES);
  }

  /** Makes a conversation a messenger's. Sockets that clients opened before are closed. */
  claim(conversation: AgentPathStep | "self"): void {
    const step = conversation === "self" ? SELF : conversation;
    if (step.name.startsWith(CONVERSATION_PREFIX) || this.#isClaimed(step)) return;
    this.#table.run(
      "INSERT INTO cf_messenger_conversations (class_name, name) VALUES (?, ?)",
      step.className,
      step.name
    );
    // With a messenger that says so, clients have been asked about from the start.
    if (conversation === "self" && this.#answersItself()) return;
    this.#runtime.tree.closeSockets(conversation === "self" ? undefined : conversation, TAKEN_OVER);
  }

  /** Notes that a messenger brings a message to this agent, whose class need not declare it. */
  broughtBy(messengerId: string): void {
    const messenger = { className: SELF.className, name: messengerId };
    if (messengerId in this.#declared || this.#isClaimed(messenger)) return;
    this.#table.run("INSERT INTO cf_messenger_conversations (class_name, name) VALUES ('', ?)", messengerId);
  }

  /** Lists the ids of the messengers that this class declares, and of others that have brought messages to this agent. */
  identities(): string[] {
    const others = this.#table.all<{ name: string }>(
      "SELECT name FROM cf_messenger_conversations WHERE class_name = '' AND name <> ''"
    );
    return [...Object.keys(this.#declared), ...others.map(({ name }) => name)];
  }

  removed({ className, name }: AgentPathStep): void {
    this.#table.change("DELETE FROM cf_messenger_conversations WHERE class_name = ? AND name = ?", className, name);
  }

  async admitChild(request: Request, child: AddressedChild): Promise<Response | undefined> {
    const { className, name, innermostPath } = child;
    if (!name.startsWith(CONVERSATION_PREFIX) && !this.#isClaimed(child)) return undefined;
    if (this.#allowed.has(request)) return undefined;
    const isAllowed =
      this.#isLogin(request, child) ||
      (await this.#mayInspect(request, innermostPath)) ||
      (await this.#isOpened(request, { className, name }));
    if (!isAllowed) return refuse();
    this.#allowed.add(request);
    return undefined;
  }

  /** Guards the agent that has a messenger's conversation itself: "class" leaves the request to the class's own `onRequest`. */
  async admitHere(request: Request): Promise<Response | "class" | undefined> {
    const { className, name, isFacet } = this.#runtime.identity;
    // A sub-agent is reached through its parent, which has asked already.
    if (isFacet || !(this.#answersItself() || this.#isClaimed(SELF))) return undefined;
    const path = pathBelowAgent(request.url, this.#runtime);
    const isWebhook = messengers.find(this.#agent)?.isWebhook(path ?? new URL(request.url).pathname);
    if (!isUpgrade(request) && (isWebhook || this.#inspector?.answers(path ?? ""))) return undefined;
    if (await this.#isOpened(request, { className, name })) return undefined;
    return isUpgrade(request) ? refuse() : "class";
  }

  get #declared(): MessengerSet {
    return channels.of(this.#agent).declared.messengers;
  }

  #answersItself(): boolean {
    return Object.values(this.#declared).some(({ conversation }) => conversation === "self");
  }

  #isClaimed({ className, name }: AgentPathStep): boolean {
    const query = "SELECT 1 FROM cf_messenger_conversations WHERE class_name = ? AND name = ?";
    return this.#table.one(query, className, name) !== undefined;
  }

  /** Whether a request ends a login to an MCP server that the conversation began. The sub-agent checks the state, which is used once. */
  #isLogin(request: Request, { className, name, innermostPath }: AddressedChild): boolean {
    return (
      request.method === "GET" &&
      innermostPath === "/callback" &&
      new URL(request.url).searchParams.has("state") &&
      !isUpgrade(request) &&
      this.#runtime.tree.children.has({ className, name })
    );
  }

  get #inspector(): InspectorRole | undefined {
    return this.#runtime.features.role("inspector");
  }

  /** Whether a request has the credential of an inspector. The sub-agent asks its own class again. */
  async #mayInspect(request: Request, path: string): Promise<boolean> {
    return !isUpgrade(request) && this.#ask(() => this.#inspector?.admits(request, path));
  }

  async #isOpened(request: Request, conversation: AgentPathStep): Promise<boolean> {
    if (!isOverridden(this.#agent, "authorizeMessengerConversation")) return false;
    return this.#ask(() => this.#agent.authorizeMessengerConversation(request.clone() as Request, conversation));
  }

  /** Asks the class. One that fails refuses. */
  async #ask(decide: () => unknown): Promise<boolean> {
    try {
      return (await decide()) === true;
    } catch (error) {
      console.error("Whether a messenger's conversation may be reached could not be decided: it is refused.", error);
      return false;
    }
  }
}

function refuse(): Response {
  warnings.warn(
    "A client asked for the conversation of a messenger: refused. authorizeMessengerConversation() of the class opens it."
  );
  return jsonResponse({ error: "Conversations of messengers are not open here." }, 403);
}
