// The list of one person's conversations: an agent by that person's name. The page follows its state, and changes it only
// through the callable methods. What a conversation calls (`touch`) is not callable by clients.
import { Agent, getAgentByName, type StateSource } from "everthink/agent";
import { cutTitle, nameOf, UNTITLED, type ConversationEntry, type ConversationList } from "../src/conversations.ts";

/** The one that was used longest ago leaves, and is deleted. */
const MAX_CONVERSATIONS = 200;

export default class Conversations extends Agent<Cloudflare.Env, ConversationList> {
  static callables = ["create", "rename", "remove"] as const;
  override initialState: ConversationList = { conversations: [] };

  /** One that was never used serves again, so that empty conversations do not pile up. */
  async create(): Promise<ConversationEntry> {
    const { conversations } = this.state;
    const unused = conversations.find(({ title, isUsed }) => title === UNTITLED && !isUsed);
    const entry = { id: unused?.id ?? crypto.randomUUID(), title: UNTITLED, updatedAt: Date.now() };
    await this.#put(entry);
    return entry;
  }

  rename(id: string, title: string): void {
    const change = (entry: ConversationEntry) =>
      entry.id === id ? { ...entry, title: cutTitle(String(title)) } : entry;
    this.setState({ conversations: this.state.conversations.map(change) });
  }

  /** Also for one that is not listed any more: the last attempt to remove it may have been cut off. */
  async remove(id: string): Promise<void> {
    this.setState({ conversations: this.state.conversations.filter((entry) => entry.id !== id) });
    await this.queue("destroyConversation", String(id));
  }

  /** A conversation was asked something. The first question is its title, until a person writes another. */
  async touch(id: string, question: string): Promise<void> {
    const known = this.#find(id);
    const title = known && known.title !== UNTITLED ? known.title : cutTitle(question);
    await this.#put({ id, title, updatedAt: Date.now(), isUsed: true });
  }

  /** From the queue, so that a restart in between leaves no conversation that cannot be found any more. */
  async destroyConversation(id: string): Promise<void> {
    if (this.#find(id)) return;
    const assistant = await getAgentByName(this.env.ThinkAgent_Assistant, nameOf(this.name, id));
    await assistant.destroy();
  }

  override validateStateChange(_next: ConversationList, source: StateSource): void {
    if (source !== "server") throw new Error("The list is changed by its methods only.");
  }

  async #put(entry: ConversationEntry): Promise<void> {
    const all = [entry, ...this.state.conversations.filter(({ id }) => id !== entry.id)];
    this.setState({ conversations: all.slice(0, MAX_CONVERSATIONS) });
    for (const { id } of all.slice(MAX_CONVERSATIONS)) await this.queue("destroyConversation", id);
  }

  #find(id: string): ConversationEntry | undefined {
    return this.state.conversations.find((entry) => entry.id === id);
  }
}
