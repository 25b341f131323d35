// The worker the published clients talk to. It is bundled like a user's: "everthink/agent" from dist/, decorators
// lowered by the bundler.
import {
  Agent,
  callable,
  type Connection,
  type ConnectionContext,
  getAgentByName,
  getCurrentAgent,
  routeAgentRequest,
  type StreamingResponse
} from "everthink/agent";

interface Env {
  Room: DurableObjectNamespace<Room>;
}

export interface RoomState {
  count: number;
  note: string;
}

const NOTE_LIMIT_CHARACTERS = 20;

export class Room extends Agent<Env, RoomState> {
  override initialState: RoomState = { count: 0, note: "" };
  readonly #held = new Map<string, () => void>();

  override validateStateChange(next: RoomState): void {
    if (next.note.length > NOTE_LIMIT_CHARACTERS) throw new Error("the note is too long");
  }

  override shouldConnectionBeReadonly(_connection: Connection, { request }: ConnectionContext): boolean {
    return new URL(request.url).searchParams.get("role") === "guest";
  }

  override async onRequest(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const body = request.body ? await request.text() : null;
    return Response.json({ name: this.name, method: request.method, pathname, query: [...searchParams], body });
  }

  @callable({ description: "Adds to the shared count and returns it." })
  add(amount: number): number {
    const count = this.state.count + amount;
    this.setState({ ...this.state, count });
    return count;
  }

  @callable()
  nothing(): void {}

  @callable()
  echo(value: unknown): unknown {
    return value;
  }

  @callable()
  fail(reason: string): never {
    throw new Error(reason);
  }

  /** Answers when `release` is called with the same key. */
  @callable()
  async hold(key: string): Promise<string> {
    await new Promise<void>((resolve) => this.#held.set(key, resolve));
    return `released ${key}`;
  }

  @callable()
  release(key: string): boolean {
    this.#held.get(key)?.();
    return this.#held.delete(key);
  }

  @callable({ streaming: true })
  async countTo(stream: StreamingResponse, last: number): Promise<void> {
    for (let number = 1; number <= last; number += 1) {
      stream.send(number);
      await Promise.resolve();
    }
    stream.end({ total: last });
  }

  @callable({ streaming: true })
  failHalfway(stream: StreamingResponse): void {
    stream.send("first half");
    throw new Error("no second half");
  }

  /** A refusal for good: clients do not come back after a code of the 4000s. */
  @callable()
  expel(): void {
    getCurrentAgent().connection?.close(4001, "expelled");
  }

  @callable()
  desks(): string[] {
    return this.listSubAgents(Desk).map(({ name }) => name);
  }

  notCallable(): string {
    return "not for clients";
  }
}

export class Desk extends Agent<Env, { owner: string }> {
  override initialState = { owner: "nobody" };

  @callable()
  take(owner: string): string {
    this.setState({ owner });
    return `${owner} at ${this.name} in ${this.parentPath.at(-1)?.name ?? "nowhere"}`;
  }
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    // Routing by the server: the client does not know the name, the identity frame tells it.
    if (new URL(request.url).pathname === "/mine") {
      const room = await getAgentByName(env.Room, "chosen-by-the-server");
      return room.fetch(request);
    }
    return (await routeAgentRequest(request, env)) ?? new Response("Not found", { status: 404 });
  }
};
