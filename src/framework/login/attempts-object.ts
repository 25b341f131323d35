// Counts of attempts that all processes of an app share and that outlive them: rows of Durable Objects, which the app names
// LOGIN_ATTEMPTS. A count is looked at and written in one breath.
import { isObject } from "../../util/json.ts";
import { counted, MAX_COUNTS, waitOf, type AttemptCounts, type AttemptKey, type Count } from "./attempts.ts";

/** Objects that the counts of an app are spread over. */
const SHARDS = 16;

interface Rows {
  exec(query: string, ...values: (string | number)[]): { toArray(): Record<string, unknown>[] };
}

interface ObjectContext {
  readonly storage: { readonly sql: Rows };
}

type Order =
  | { readonly do: "take"; readonly key: string; readonly limit: number; readonly now: number }
  | { readonly do: "give-back"; readonly key: string };

/**
 * Counts attempts to log in. Export it from `src/server.ts`, bind it as `LOGIN_ATTEMPTS` in `wrangler.jsonc`, and list it in a
 * migration: then attempts are counted over all processes of the app.
 *
 * @example
 * // src/server.ts
 * export { LoginAttempts } from "everthink/login";
 */
export class LoginAttempts {
  readonly #sql: Rows;

  constructor(context: ObjectContext) {
    this.#sql = context.storage.sql;
    this.#rows(
      "CREATE TABLE IF NOT EXISTS attempts (key TEXT PRIMARY KEY, used INTEGER NOT NULL, ends_at INTEGER NOT NULL)"
    );
    this.#rows("CREATE INDEX IF NOT EXISTS attempts_end ON attempts (ends_at)");
  }

  /** Only the app's own Worker reaches it. */
  async fetch(request: Request): Promise<Response> {
    const order = (await request.json()) as Order;
    return Response.json({ wait: order.do === "take" ? this.#take(order) : this.#giveBack(order) });
  }

  #take({ key, limit, now }: Extract<Order, { do: "take" }>): number {
    const count = this.#find(key);
    const wait = waitOf(count, limit, now);
    if (wait > 0) return wait;
    const { used, endsAt } = counted(count, now);
    this.#rows("INSERT OR REPLACE INTO attempts (key, used, ends_at) VALUES (?, ?, ?)", key, used, endsAt);
    this.#rows("DELETE FROM attempts WHERE ends_at <= ?", now);
    const oldest = "SELECT key FROM attempts ORDER BY ends_at DESC LIMIT -1 OFFSET ?";
    this.#rows(`DELETE FROM attempts WHERE key IN (${oldest})`, MAX_COUNTS);
    return 0;
  }

  #giveBack({ key }: Extract<Order, { do: "give-back" }>): number {
    this.#rows("UPDATE attempts SET used = MAX(0, used - 1) WHERE key = ?", key);
    return 0;
  }

  #find(key: string): Count | undefined {
    const [row] = this.#rows("SELECT used, ends_at FROM attempts WHERE key = ?", key);
    return row && { used: Number(row["used"]), endsAt: Number(row["ends_at"]) };
  }

  #rows(query: string, ...values: (string | number)[]): Record<string, unknown>[] {
    return this.#sql.exec(query, ...values).toArray();
  }
}

/** A Durable Object namespace, as far as it is used. */
export interface AttemptObjects {
  idFromName(name: string): unknown;
  get(id: never): { fetch(url: string, init: RequestInit): Promise<Response> };
}

export function attemptObjects(env: unknown): AttemptObjects | undefined {
  const bound = isObject(env) ? env["LOGIN_ATTEMPTS"] : undefined;
  // What has this method is a namespace: a variable of that name is a text.
  return typeof (bound as Partial<AttemptObjects> | undefined)?.idFromName === "function"
    ? (bound as AttemptObjects)
    : undefined;
}

/** The same counts in the app's objects. */
export class SharedAttempts implements AttemptCounts {
  readonly #objects: AttemptObjects;

  constructor(objects: AttemptObjects) {
    this.#objects = objects;
  }

  /** One key after the other: what the first one refuses does not count for the second. */
  async take(keys: readonly AttemptKey[], now: number): Promise<number> {
    for (const [index, { key, limit }] of keys.entries()) {
      const wait = await this.#ask({ do: "take", key, limit, now });
      if (wait === 0) continue;
      await this.giveBack(keys.slice(0, index));
      return wait;
    }
    return 0;
  }

  async giveBack(keys: readonly AttemptKey[]): Promise<void> {
    await Promise.all(keys.map(({ key }) => this.#ask({ do: "give-back", key })));
  }

  async #ask(order: Order): Promise<number> {
    const id = this.#objects.idFromName(`attempts-${shardOf(order.key)}`);
    // The namespace makes ids of its own kind.
    const object = this.#objects.get(id as never);
    const response = await object.fetch("https://attempts/", { method: "POST", body: JSON.stringify(order) });
    const answer = (await response.json()) as { wait?: unknown };
    if (typeof answer.wait !== "number")
      throw new Error("An object of LOGIN_ATTEMPTS gave no answer: is it LoginAttempts?");
    return answer.wait;
  }
}

function shardOf(key: string): number {
  let hash = 0;
  for (const character of key) hash = (Math.imul(hash, 31) + (character.codePointAt(0) ?? 0)) | 0;
  return Math.abs(hash) % SHARDS;
}
