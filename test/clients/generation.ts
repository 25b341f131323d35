// What the tests use of the published clients, in the shape both generations share. Each generation's folder binds it
// to the package installed there; that the bindings type-check is part of the test.

import type { Chat } from "../browser/page/chat-view.tsx";

/** Methods of the Room worker as a typed client sees them. */
export interface RoomStub {
  add(amount: number): Promise<number>;
  echo(value: unknown): Promise<unknown>;
}

export interface RoomState {
  count: number;
  note: string;
}

export interface ClientOptions<State = unknown> {
  host: string;
  agent: string;
  name?: string;
  basePath?: string;
  path?: string;
  query?: Record<string, string>;
  defaultCallTimeout?: number;
  onStateUpdate?: (state: State, source: "server" | "client") => void;
  onStateUpdateError?: (error: string) => void;
  onIdentity?: (name: string, agent: string) => void;
  onIdentityChange?: () => void;
  /** Newest generation only: the connection is closed for good. */
  onConnectionError?: (error: { code: number }) => void;
}

export interface HookOptions<State = unknown> extends Omit<ClientOptions<State>, "path"> {
  /** Sub-agents below the agent, root first. */
  sub?: readonly { agent: string; name: string }[];
  onMcpUpdate?: (mcp: ShownMcp) => void;
}

/** What the hook receives about MCP servers, as far as the tests look at it. */
export interface ShownMcp {
  readonly servers: Record<string, { readonly name: string; readonly state: string; readonly auth_url: string | null }>;
  readonly tools: readonly { readonly name: string; readonly serverId: string }[];
}

export interface StreamHandlers {
  onChunk?: (chunk: unknown) => void;
  onDone?: (last: unknown) => void;
  onError?: (error: string) => void;
}

interface Callable {
  call<T = unknown>(
    method: string,
    args?: unknown[],
    options?: { timeout?: number; stream?: StreamHandlers }
  ): Promise<T>;
}

interface Connected {
  readonly agent: string;
  readonly name: string;
  readonly identified: boolean;
  readonly ready: Promise<void>;
  addEventListener(type: "close", listener: (event: { code: number; reason: string }) => void): void;
  close(code?: number, reason?: string): void;
  send(data: string): void;
}

export interface Client<State> extends Connected, Callable {
  readonly state: State | undefined;
  setState(state: State): void;
}

export interface RoomClient extends Connected {
  readonly stub: RoomStub;
}

export interface HookResult<State> extends Client<State> {
  readonly path: readonly { agent: string; name: string }[];
  readonly stub: Record<string, (...args: never[]) => unknown>;
  getHttpUrl(): string;
}

/** What `useAgentToolEvents` returns, as far as the tests look at it. */
export interface AgentToolRuns {
  readonly runsById: Readonly<Record<string, object>>;
  readonly runsByToolCallId: Readonly<
    Record<
      string,
      readonly {
        readonly status: string;
        readonly parts: readonly { type: string; text?: string }[];
        readonly display?: { readonly name?: string };
      }[]
    >
  >;
}

export interface FetchOptions {
  host: string;
  agent: string;
  name?: string;
  path?: string;
  query?: Record<string, string>;
}

export interface Generation {
  readonly version: string;
  /** Whether it calls `onConnectionError`. */
  readonly reportsFinalClose: boolean;
  connect<State>(options: ClientOptions<State>): Client<State>;
  /** The same client with the agent's class as its type. */
  connectToRoom(options: ClientOptions<RoomState>): RoomClient;
  useAgent<State>(options: HookOptions<State>): HookResult<State>;
  /** `agent`: what `useAgent` returned. */
  useAgentToolEvents(options: { agent: unknown }): AgentToolRuns;
  /** `useAgent` and `useAgentChat`, as a page has them. */
  useChatPage(options: HookOptions): { readonly agent: Callable & { readonly state: unknown }; readonly chat: Chat };
  fetch(options: FetchOptions, init?: RequestInit): Promise<Response>;
}
