// Who may log in: LOGIN_USERS, a list of names with hashed passwords. The list is a secret of the Worker, made line by line with
// `everthink user`. A hash is slow on purpose, and as slow for a name that is not there.
import { isSameSecret } from "../../util/same-secret.ts";

/** workerd computes at most this many rounds. */
const ROUNDS = 100_000;
const SALT_BYTES = 16;
const HASH_BITS = 256;
/** Longer ones are refused before they are hashed. */
export const MAX_PASSWORD_CHARS = 200;
export const MAX_USER_CHARS = 200;

/** Addresses are compared without regard to case; surrounding spaces come with copying. */
export function userName(text: string): string {
  return text.trim().toLowerCase();
}

/** Hashes by name. A line that cannot be read is left out: it lets no one in. */
export function readUsers(text: string | undefined): ReadonlyMap<string, string> {
  const entries = (text ?? "").split(/[\s,]+/).flatMap((line): [string, string][] => {
    const [, user, hash] = /^([^:]+):(pbkdf2:\d+:[\w-]+:[\w-]+)$/.exec(line) ?? [];
    return user === undefined || hash === undefined ? [] : [[userName(user), hash]];
  });
  return new Map(entries);
}

/** What LOGIN_USERS has for a person: `ada@example.com:pbkdf2:…`. */
export async function userLine(user: string, password: string): Promise<string> {
  const salt = crypto.getRandomValues(new Uint8Array(SALT_BYTES));
  return `${userName(user)}:pbkdf2:${ROUNDS}:${base64url(salt)}:${base64url(await derive(password, salt, ROUNDS))}`;
}

/** Takes as long for an unknown name as for a known one. */
export async function isPassword(password: string, hash: string | undefined): Promise<boolean> {
  const [, rounds = String(ROUNDS), salt = "AAAA", expected = "-"] = hash?.split(":") ?? [];
  const given = await derive(password, fromBase64url(salt), Math.min(Number(rounds), ROUNDS));
  return isSameSecret(base64url(given), expected) && hash !== undefined;
}

async function derive(password: string, salt: Uint8Array<ArrayBuffer>, iterations: number): Promise<Uint8Array> {
  const key = await crypto.subtle.importKey("raw", new TextEncoder().encode(password), "PBKDF2", false, ["deriveBits"]);
  return new Uint8Array(
    await crypto.subtle.deriveBits({ name: "PBKDF2", hash: "SHA-256", salt, iterations }, key, HASH_BITS)
  );
}

export function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace(/=+$/, "");
}

function fromBase64url(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}
