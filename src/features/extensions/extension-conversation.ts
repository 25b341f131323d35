// What extensions may read and write of their agent's conversation, and the blocks of the system prompt they bring.
import type { UIMessage } from "ai";
import type { ExtensionBlock } from "./context-blocks.ts";
import type { ExtensionConversation, ExtensionMessage } from "./host-bridge.ts";
import { AgentContextProvider } from "../../session/context/agent-context-provider.ts";
import { blockErrors } from "../../session/context/errors.ts";
import type { AnyContextProvider } from "../../session/context/provider.ts";
import { estimateStringTokens } from "../../session/tokens.ts";
import type { ChatServices } from "../../feature/services.ts";

interface Text {
  readonly block: ExtensionBlock;
  readonly provider: AgentContextProvider;
}

export class AgentExtensionConversation implements ExtensionConversation {
  readonly #services: ChatServices;
  /** Blocks of extensions whose text the session keeps. */
  readonly #texts = new Map<string, Text>();
  #isLive = false;

  constructor(services: ChatServices) {
    this.#services = services;
  }

  /** From now on a change of the blocks renders the prompt again; before, the first turn does. */
  goLive(): void {
    this.#isLive = true;
  }

  async addBlocks(blocks: readonly ExtensionBlock[]): Promise<void> {
    const { session } = this.#services;
    const added: string[] = [];
    try {
      for (const block of blocks) {
        const { label, description, maxTokens } = block;
        const text = isText(block) ? new AgentContextProvider(this.#services.agent) : undefined;
        await session.addContext(label, {
          provider: text ? textProvider(block, text) : collectionProvider(block),
          description,
          maxTokens
        });
        added.push(label);
        if (text) this.#texts.set(label, { block, provider: text });
      }
    } catch (error) {
      await this.removeBlocks(added, false);
      throw error;
    }
    await this.#refresh();
  }

  async removeBlocks(labels: readonly string[], isForGood: boolean): Promise<void> {
    for (const label of labels) {
      if (isForGood) await this.#texts.get(label)?.provider.set("");
      this.#texts.delete(label);
      this.#services.session.removeContext(label);
    }
    await this.#refresh();
  }

  async getContext(label: string): Promise<string | null> {
    const { session } = this.#services;
    await session.loadContext();
    return session.getContextBlock(label)?.content ?? null;
  }

  async setContext(label: string, content: string): Promise<void> {
    const { session } = this.#services;
    const text = this.#texts.get(label);
    if (text?.block.type === "readonly") {
      const tokens = estimateStringTokens(content);
      const { maxTokens = Infinity } = text.block;
      if (tokens > maxTokens) throw blockErrors.BlockOverTokensError(label, tokens, maxTokens);
      await text.provider.set(content);
    } else {
      await session.replaceContextBlock(label, content);
    }
    // Blocks of the class are shown after the next refresh, as when the model writes them.
    if (text) await this.#refresh();
  }

  *messages(): Iterable<ExtensionMessage> {
    const messages = this.#services.turns.transcript();
    for (const { id, role, parts } of messages.toReversed()) yield { id, role, content: textOf(parts) };
  }

  messageCount(): Promise<number> {
    return this.#services.session.getPathLength();
  }

  async sendMessage(content: string, extensionName: string): Promise<void> {
    const message: UIMessage = {
      id: this.#services.ids.next(),
      role: "user",
      parts: [{ type: "text", text: content }],
      metadata: { source: { kind: "extension", name: extensionName } }
    };
    await this.#services.addMessages([message], {});
  }

  async #refresh(): Promise<void> {
    if (this.#isLive) await this.#services.session.refreshSystemPrompt();
  }
}

function isText({ type }: ExtensionBlock): boolean {
  return type === "readonly" || type === "writable";
}

/** Of a block that only its extension writes, the model is offered no way to write it. */
function textProvider({ type }: ExtensionBlock, provider: AgentContextProvider): AnyContextProvider {
  if (type === "writable") return provider;
  return { init: (label, sessionId) => provider.init(label, sessionId), get: () => provider.get() };
}

function collectionProvider({ type, serve, takesEntries }: ExtensionBlock): AnyContextProvider {
  const get = () => serve("get", []);
  const set = async (...entry: (string | undefined)[]) =>
    void (await serve(
      "set",
      entry.filter((one) => one !== undefined)
    ));
  const more = takesEntries ? { set } : {};
  if (type === "skill") return { get, load: (key) => serve("load", [key]), ...more };
  return { get, search: (query) => serve("search", [query]), ...more };
}

function textOf(parts: UIMessage["parts"]): string {
  return parts.flatMap((part) => (part.type === "text" ? part.text : [])).join("");
}
