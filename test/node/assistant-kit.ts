// What the tests of the demo's Worker share: the two classes on the in-process host, without pauses, and a page.
import type { UIMessage } from "ai";
import { Assistant } from "../../examples/assistant/agents/assistant/agent.ts";
import { Critic } from "../../examples/assistant/agents/assistant/agents/critic.ts";
import { Researcher } from "../../examples/assistant/agents/assistant/agents/researcher.ts";
import { Directory } from "../../examples/assistant/agents/directory.ts";
import type { ModelEnv } from "../../examples/assistant/server/env.ts";
import type { DirectoryState, PanelNote } from "../../examples/assistant/shared/demo.ts";
import { SUGGESTIONS } from "../../examples/assistant/shared/suggestions.ts";
import { createThinkClient, type ThinkClientSettings } from "../../src/client/index.ts";
import { createTestHost } from "../../src/testing/index.ts";
import { Network } from "./client-kit.ts";

export { Assistant, Directory };

export function openHost(env: ModelEnv = {}, agents = { Assistant, Directory }) {
  return createTestHost({ agents, exports: [Researcher, Critic], env: { OFFLINE_PACE_MS: "0", ...env } });
}

export type Host = ReturnType<typeof openHost>;

export const promptOf = (title: string): string => {
  const found = SUGGESTIONS.find((suggestion) => suggestion.title === title);
  if (!found) throw new Error(`No suggestion is called "${title}".`);
  return found.prompt;
};

/** A page with one conversation open. */
export class Page {
  readonly client;
  readonly notes: PanelNote[] = [];
  readonly #host: Host;
  readonly #network: Network;

  constructor(host: Host, settings: ThinkClientSettings = {}) {
    this.#host = host;
    this.#network = new Network(host);
    const { WebSocket, fetch, timers, random } = this.#network.options({}, "a");
    this.client = createThinkClient<typeof Assistant>({
      onMessage: (text) => void this.notes.push(JSON.parse(String(text)) as PanelNote),
      ...settings,
      host: "localhost:8787",
      agent: "assistant",
      name: "a",
      ...{ WebSocket, fetch, timers, random }
    });
  }

  /** Asks, and waits until nothing happens any more. */
  async ask(question: Parameters<Page["client"]["send"]>[0]): Promise<void> {
    void this.client.send(question);
    await this.settle();
  }

  async settle(): Promise<void> {
    await this.#network.settle();
    await this.#host.advance(1_000);
    await this.#network.settle();
  }

  get snapshot() {
    return this.client.getSnapshot();
  }

  get last(): UIMessage {
    const message = this.snapshot.messages.at(-1);
    if (!message) throw new Error("There is no message.");
    return message;
  }

  get text(): string {
    return paragraphsOf(this.last);
  }
}

export const paragraphsOf = ({ parts }: UIMessage): string =>
  parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");

interface ToolView {
  readonly type: string;
  readonly state: string;
  readonly input?: unknown;
  readonly output?: unknown;
}

/** "now output-available" and so on, in order. */
export const toolsOf = ({ parts }: UIMessage): ToolView[] =>
  parts.filter((part): part is typeof part & ToolView => part.type.startsWith("tool-"));

export const states = (message: UIMessage): string[] =>
  toolsOf(message).map(({ type, state }) => `${type.slice("tool-".length)} ${state}`);

export async function directoryState(host: Host): Promise<DirectoryState> {
  const socket = await host.connect("/agents/directory/main");
  return (await socket.next<{ state: DirectoryState }>("cf_agent_state")).state;
}
