// The one list of conversations, and the board of published notes. Every page follows its state; clients change it only
// through the callable methods. What the Assistants call (`touch`, `waits`, `publish`) is not callable by clients.
import { Agent, getAgentByName, type StateSource } from "everthink/agent";
import type { ConversationEntry, DirectoryState, PublishedNote } from "../shared/demo.ts";
import {
  asked,
  cutTitle,
  EMPTY_DIRECTORY,
  UNTITLED,
  unusedConversation,
  withConversation,
  withNote,
  withoutConversation,
  withTitle,
  withWaiting
} from "../server/conversation-list.ts";
import type { Env } from "../server/env.ts";

/** Its data are stored under this name, and `env` has it under it. */
export const className = "Directory";

export class Directory extends Agent<Env, DirectoryState> {
  static callables = ["create", "rename", "remove"];
  override initialState: DirectoryState = EMPTY_DIRECTORY;

  /** One that was never used serves again, so that empty conversations do not pile up, whichever client made them. */
  async create(): Promise<ConversationEntry> {
    const now = Date.now();
    const id = unusedConversation(this.state)?.id ?? crypto.randomUUID();
    const entry = { id, title: UNTITLED, createdAt: now, updatedAt: now };
    await this.#list(entry);
    return entry;
  }

  rename(id: string, title: string): void {
    this.setState(withTitle(this.state, id, String(title)));
  }

  /** Also for one that is not listed any more: the last attempt to remove it may have been cut off. */
  async remove(id: string): Promise<void> {
    this.setState(withoutConversation(this.state, id));
    await this.queue("destroyConversation", id);
  }

  /** An Assistant was asked something. A first question brings its title; a conversation that is not listed needs one. */
  async touch(id: string, title?: string): Promise<void> {
    const known = this.#find(id);
    if (!known && title === undefined) return;
    const now = Date.now();
    const entry = known ?? { id, title: UNTITLED, createdAt: now, updatedAt: now };
    const isNamed = title !== undefined && entry.title === UNTITLED;
    await this.#list(asked({ ...entry, title: isNamed ? cutTitle(title) : entry.title }, now));
  }

  /** How many questions wait in a conversation. One that is not listed any more waits for nothing. */
  waits(id: string, questions: number): void {
    const next = withWaiting(this.state, id, questions);
    if (next !== this.state) this.setState(next);
  }

  /** The same note, published twice, stands there once. */
  publish(note: PublishedNote): void {
    this.setState(withNote(this.state, note));
  }

  /** From the queue, so that a restart in between does not leave storage that cannot be found any more. */
  async destroyConversation(id: string): Promise<void> {
    if (this.#find(id)) return;
    const assistant = await getAgentByName(this.env.Assistant, id);
    await assistant.destroy();
  }

  /** Clients follow the state; they do not write it. */
  override validateStateChange(_next: DirectoryState, source: StateSource): void {
    if (source !== "server") throw new Error("The directory is changed by its methods only.");
  }

  async #list(entry: ConversationEntry): Promise<void> {
    const { state, dropped } = withConversation(this.state, entry);
    this.setState(state);
    for (const id of dropped) await this.queue("destroyConversation", id);
  }

  #find(id: string): ConversationEntry | undefined {
    return this.state.conversations.find((entry) => entry.id === id);
  }
}
