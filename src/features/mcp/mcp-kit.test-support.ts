// For the tests of this folder: an agent's MCP manager over SQLite in memory, with a clock that tests move, and a network
// that is a map of functions. `restart` forgets everything that is not stored.
import { DatabaseSync } from "node:sqlite";
import { memoryStorage } from "../../host/memory-storage.test-support.ts";
import type { Clock, Ids, Sql } from "../../host/ports.ts";
import { openSchema } from "../../host/schema.ts";
import { openSql } from "../../host/sql.ts";
import { openProtocol } from "./protocol.ts";
import type { McpOAuthProvider } from "./credentials.ts";
import type { Fetch } from "../../util/guarded-request.ts";
import { McpManager } from "./manager.ts";
import type { LoadProtocol } from "./protocol.ts";
import { McpStore } from "./server-store.ts";
import type { Handler } from "./served-mcp.test-support.ts";

export class ManualClock implements Clock {
  #now = 1_000_000;
  #timers: { at: number; fire: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const timer = { at: this.#now + ms, fire: resolve };
      this.#timers.push(timer);
      signal?.addEventListener("abort", () => {
        this.#timers = this.#timers.filter((other) => other !== timer);
        reject(signal.reason);
      });
    });
  }

  get sleepers(): number {
    return this.#timers.length;
  }

  /** The waits that are under way, in ms from now. */
  waits(): number[] {
    return this.#timers.map(({ at }) => at - this.#now).toSorted((a, b) => a - b);
  }

  advance(ms: number): void {
    this.#now += ms;
    const due = this.#timers.filter(({ at }) => at <= this.#now);
    this.#timers = this.#timers.filter(({ at }) => at > this.#now);
    for (const timer of due) timer.fire();
  }
}

export function memorySql(): Sql {
  const sql = openSql(memoryStorage(new DatabaseSync(":memory:")));
  openSchema(sql);
  return sql;
}

class CountingIds implements Ids {
  #count = 0;
  next(): string {
    this.#count += 1;
    return `id${String(this.#count).padStart(4, "0")}abcdefghijklmno`;
  }
  random(): number {
    return 0.999;
  }
}

export interface Sent {
  readonly method: string;
  readonly url: string;
  /** The JSON-RPC method of a posted message. */
  readonly rpc: string | undefined;
  readonly headers: Headers;
}

/** Time as it passes. For servers that are real processes. */
export const REAL_CLOCK: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, ms);
      signal?.addEventListener("abort", () => {
        clearTimeout(timer);
        reject(signal.reason);
      });
    })
};

export class McpWorld<Time extends Clock = ManualClock> {
  readonly sql = memorySql();
  readonly clock: Time;
  readonly sent: Sent[] = [];
  readonly events: [name: string, payload: object][] = [];
  readonly warnings: string[] = [];
  readonly origins = new Map<string, Handler>();
  loadProtocol: LoadProtocol = openProtocol;
  createOAuthProvider: ((callbackUrl: string) => McpOAuthProvider | undefined) | undefined;
  #background = new Set<Promise<unknown>>();
  readonly #ids = new CountingIds();
  manager: McpManager;

  constructor(clock?: Time) {
    // The default of the type parameter is the default of the argument.
    this.clock = clock ?? (new ManualClock() as Clock as Time);
    this.manager = this.#open();
  }

  /** As a restart of the process: a new manager over the same rows, which goes on by itself. */
  restart(): McpManager {
    this.manager = this.#open();
    this.manager.restore();
    return this.manager;
  }

  get store(): McpStore {
    return new McpStore(this.sql);
  }

  /** Work that no caller waits for. */
  async idle(): Promise<void> {
    while (this.#background.size > 0) await Promise.all(this.#background);
  }

  rpcs(): string[] {
    return this.sent.flatMap(({ rpc }) => rpc ?? []);
  }

  #open(): McpManager {
    return new McpManager({
      store: this.store,
      clock: this.clock,
      ids: this.#ids,
      fetch: (url, init) => this.#fetch(url, init),
      loadProtocol: (services) => this.loadProtocol(services),
      createOAuthProvider: (callbackUrl) => this.createOAuthProvider?.(callbackUrl),
      emit: (type, payload) => void this.events.push([type, payload]),
      warn: (warning) => this.warnings.push(warning),
      background: (work) => {
        this.#background.add(work);
        void work.finally(() => this.#background.delete(work));
      }
    });
  }

  readonly #fetch: Fetch = async (target, init) => {
    const request = new Request(target, init as RequestInit);
    const { origin } = new URL(request.url);
    const body = request.method === "POST" ? await request.clone().text() : "";
    const rpc = body.startsWith("{") ? (JSON.parse(body) as { method?: string }).method : undefined;
    this.sent.push({ method: request.method, url: request.url, rpc, headers: request.headers });
    const handler = this.origins.get(origin);
    if (handler === undefined && new URL(origin).hostname === "localhost") return fetch(target, init as RequestInit);
    if (handler === undefined) throw new TypeError(`fetch failed: ${origin} refused the connection`);
    return handler(request);
  };
}
