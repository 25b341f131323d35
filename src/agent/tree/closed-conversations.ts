// Conversations of messengers are private, whatever the class is made of: no client reaches one by a URL or a socket. The rule
// is applied where a request comes in, before the sub-agent is woken, and names what is let through instead of what is not.
// The feature with the `access` role extends it with what the class opens; without that feature it holds as it is.
import { TableSet, type TableDefinition } from "../../host/table-set.ts";
import type { AgentPathStep } from "../../host/path.ts";
import type { AccessRole, AddressedChild, InspectorRole } from "../../feature/feature.ts";
import { jsonResponse } from "../../util/json.ts";
import { WarnOnce } from "../../util/warn-once.ts";
import { isUpgrade } from "../connections/upgrade.ts";
import { pathBelowAgent } from "../own-path.ts";
import type { AgentRuntime } from "../runtime.ts";

/** The names of sub-agents that are conversations of messengers, unless a class chose another one. */
export const CONVERSATION_PREFIX = "messenger:";

/** Stands for the agent itself in the table. */
export const SELF: AgentPathStep = { className: "", name: "" };

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

export class ClosedConversations implements AccessRole {
  protected readonly runtime: AgentRuntime;
  protected readonly table: TableSet;
  /** Requests that were let in: the class is asked once about each. */
  readonly #allowed = new WeakSet<Request>();

  constructor(runtime: AgentRuntime) {
    this.runtime = runtime;
    this.table = new TableSet(runtime.sql, CLAIM_TABLES);
  }

  identities(): readonly string[] {
    return [];
  }

  removed({ className, name }: AgentPathStep): void {
    this.table.change("DELETE FROM cf_messenger_conversations WHERE class_name = ? AND name = ?", className, name);
  }

  async admitChild(request: Request, child: AddressedChild): Promise<Response | undefined> {
    if (!this.isMessengers(child) || this.#allowed.has(request)) return undefined;
    const isAllowed =
      this.#isLogin(request, child) ||
      (await this.#mayInspect(request, child.innermostPath)) ||
      (await this.isOpened(request, { className: child.className, name: child.name }));
    if (!isAllowed) return refuse();
    this.#allowed.add(request);
    return undefined;
  }

  /** Guards the agent that has a messenger's conversation itself: "class" leaves the request to the class's own `onRequest`. */
  async admitHere(request: Request): Promise<Response | "class" | undefined> {
    const { className, name, isFacet } = this.runtime.identity;
    // A sub-agent is reached through its parent, which has asked already.
    if (isFacet || !this.answersItself()) return undefined;
    const path = pathBelowAgent(request.url, this.runtime);
    const hasCredential = this.#inspector?.answers(path ?? "") || this.isWebhook(path ?? new URL(request.url).pathname);
    if (!isUpgrade(request) && hasCredential) return undefined;
    if (await this.isOpened(request, { className, name })) return undefined;
    return isUpgrade(request) ? refuse() : "class";
  }

  /** Whether the class lets a request in. */
  protected isOpened(_request: Request, _conversation: AgentPathStep): boolean | Promise<boolean> {
    return false;
  }

  /** Whether a provider sends its requests to this path, which it signs. */
  protected isWebhook(_path: string): boolean {
    return false;
  }

  /** Whether a messenger's conversation is the agent's own. */
  protected answersItself(): boolean {
    return this.isClaimed(SELF);
  }

  protected isMessengers(child: AgentPathStep): boolean {
    return child.name.startsWith(CONVERSATION_PREFIX) || this.isClaimed(child);
  }

  protected isClaimed({ className, name }: AgentPathStep): boolean {
    const query = "SELECT 1 FROM cf_messenger_conversations WHERE class_name = ? AND name = ?";
    return this.table.one(query, className, name) !== undefined;
  }

  /** Asks code that decides. One that fails refuses. */
  protected async ask(decide: () => unknown): Promise<boolean> {
    try {
      return (await decide()) === true;
    } catch (error) {
      console.error("Whether a messenger's conversation may be reached could not be decided: it is refused.", error);
      return false;
    }
  }

  /** Whether a request ends a login to an MCP server that the conversation began. The sub-agent checks the state, which is used once. */
  #isLogin(request: Request, { className, name, innermostPath }: AddressedChild): boolean {
    return (
      request.method === "GET" &&
      innermostPath === "/callback" &&
      new URL(request.url).searchParams.has("state") &&
      !isUpgrade(request) &&
      this.runtime.tree.children.has({ className, name })
    );
  }

  get #inspector(): InspectorRole | undefined {
    return this.runtime.features.role("inspector");
  }

  /** Whether a request has the credential of an inspector. The sub-agent asks its own class again. */
  async #mayInspect(request: Request, path: string): Promise<boolean> {
    return !isUpgrade(request) && this.ask(() => this.#inspector?.admits(request, path));
  }
}

function refuse(): Response {
  warnings.warn(
    "A client asked for the conversation of a messenger: refused. With channels, authorizeMessengerConversation() of the class opens it."
  );
  return jsonResponse({ error: "Conversations of messengers are not open here." }, 403);
}
