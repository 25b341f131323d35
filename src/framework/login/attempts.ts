// How often someone may try to log in. An attempt is counted before its password is looked at, so that attempts at the same moment
// count, too; a right one is given back. Counts are kept in an object of the app where it has one (`LOGIN_ATTEMPTS`), and in this
// process otherwise. Either way there are at most so many, and the one that ends first makes room.
import { ThinkError } from "../../util/errors.ts";

const MINUTE_MS = 60_000;

/** From the first attempt that is counted. */
export const WINDOW_MS = 15 * MINUTE_MS;
/** Wrong passwords for one name in that time, wherever they come from. */
export const ATTEMPTS_PER_USER = 10;
/** The same from one address, for whatever names. */
export const ATTEMPTS_PER_ADDRESS = 100;
/** Counts that one process, or one object, keeps. */
export const MAX_COUNTS = 10_000;

/** What an attempt is counted under. */
export interface AttemptKey {
  readonly key: string;
  readonly limit: number;
}

export interface Count {
  readonly used: number;
  readonly endsAt: number;
}

export interface AttemptCounts {
  /** Counts one attempt under each key, or under none of them. Answers the wait in milliseconds; 0: it may be made. */
  take(keys: readonly AttemptKey[], now: number): Promise<number>;
  giveBack(keys: readonly AttemptKey[]): Promise<void>;
}

/** Someone has tried too often. */
export class TooManyAttemptsError extends ThinkError {
  constructor(readonly waitMs: number) {
    super({
      code: "too-many-login-attempts",
      message: `Too many attempts. Try again in ${waitText(waitMs)}.`,
      hint: `After ${ATTEMPTS_PER_USER} wrong passwords for a name, or ${ATTEMPTS_PER_ADDRESS} from an address, nobody tries again before 15 minutes are over.`
    });
  }
}

function waitText(waitMs: number): string {
  const minutes = Math.ceil(waitMs / MINUTE_MS);
  return minutes <= 1 ? "a minute" : `${minutes} minutes`;
}

/** `address`: undefined where nothing says who sends. */
export function attemptKeys(user: string, address: string | undefined): AttemptKey[] {
  const ofUser = { key: `user:${user}`, limit: ATTEMPTS_PER_USER };
  return address === undefined
    ? [ofUser]
    : [{ key: `address:${networkOf(address)}`, limit: ATTEMPTS_PER_ADDRESS }, ofUser];
}

/** Of an IPv6 address its network: one connection has all addresses of it. */
function networkOf(address: string): string {
  if (!address.includes(":")) return address;
  const [head = "", tail] = address.toLowerCase().split("::");
  const front = head === "" ? [] : head.split(":");
  const back = tail === undefined || tail === "" ? [] : tail.split(":");
  const middle =
    tail === undefined ? [] : Array.from({ length: Math.max(0, 8 - front.length - back.length) }, () => "0");
  const groups = [...front, ...middle, ...back].map((group) => group.replace(/^0+(?=.)/, ""));
  return `${groups.slice(0, 4).join(":")}::/64`;
}

/** How long a count is full for. Pure. */
export function waitOf(count: Count | undefined, limit: number, now: number): number {
  return count === undefined || count.endsAt <= now || count.used < limit ? 0 : count.endsAt - now;
}

/** The count with one more. Pure. */
export function counted(count: Count | undefined, now: number): Count {
  const isOpen = count !== undefined && count.endsAt > now;
  return isOpen ? { ...count, used: count.used + 1 } : { used: 1, endsAt: now + WINDOW_MS };
}

/** Of this process: another one of the same app counts for itself, and a new one begins anew. */
export class ProcessAttempts implements AttemptCounts {
  /** In the order in which they end: each has the same time from its first attempt. */
  readonly #counts = new Map<string, Count>();

  get size(): number {
    return this.#counts.size;
  }

  take(keys: readonly AttemptKey[], now: number): Promise<number> {
    const wait = Math.max(...keys.map(({ key, limit }) => waitOf(this.#counts.get(key), limit, now)));
    if (wait > 0) return Promise.resolve(wait);
    for (const { key } of keys) this.#count(key, now);
    return Promise.resolve(0);
  }

  giveBack(keys: readonly AttemptKey[]): Promise<void> {
    for (const { key } of keys) {
      const count = this.#counts.get(key);
      if (count) this.#counts.set(key, { ...count, used: Math.max(0, count.used - 1) });
    }
    return Promise.resolve();
  }

  #count(key: string, now: number): void {
    const before = this.#counts.get(key);
    const count = counted(before, now);
    // A new window goes to the end.
    if (before?.endsAt !== count.endsAt) this.#counts.delete(key);
    this.#counts.set(key, count);
    for (const [oldest, { endsAt }] of this.#counts) {
      if (endsAt > now && this.#counts.size <= MAX_COUNTS) break;
      this.#counts.delete(oldest);
    }
  }
}
