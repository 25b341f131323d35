// The server's side of one conversation, over HTTP: what is stored, and the orders the fixture agent takes.
import type { WorkerServer } from "../process/workerd-process.ts";
import type { ShownMessage } from "./page/chat-view.tsx";

export class Conversation {
  readonly name: string;
  readonly #server: WorkerServer;

  constructor(server: WorkerServer, name: string) {
    this.#server = server;
    this.name = name;
  }

  async messages(): Promise<ShownMessage[]> {
    const response = await this.#ask("get-messages");
    // The agent answers with UI messages; the comparison looks at every key of them.
    return (await response.json()) as ShownMessage[];
  }

  /** Lets a gated answer go on by this many words. */
  async letGo(permits = Infinity): Promise<void> {
    await this.#ask(`gate?permits=${permits}`, "POST");
  }

  async writeHistory(messages: number): Promise<void> {
    await this.#ask(`history?messages=${messages}`, "POST");
  }

  async sentMails(): Promise<number> {
    const response = await this.#ask("mails");
    return Number(await response.text());
  }

  async #ask(path: string, method = "GET"): Promise<Response> {
    const response = await fetch(`${this.#server.url}/agents/chat-agent/${this.name}/${path}`, { method });
    if (!response.ok) throw new Error(`${path} was answered with ${response.status}: ${await response.text()}`);
    return response;
  }
}
