// A session is a value that only this server can make: the name, when it ends, and a signature over both and over the hash of
// the password, so that a new password, or the removal of the name, ends every session of that person.
import { decodePercent } from "../../util/decode-percent.ts";
import { isLoopback } from "../../util/loopback.ts";
import { isSameSecret } from "../../util/same-secret.ts";
import { base64url } from "./users.ts";

const COOKIE = "everthink_session";

/** What a name's session is signed with; undefined: the name may not be in. */
export type Signer = (user: string) => { readonly secret: string; readonly hash: string } | undefined;

export async function makeSession(user: string, signer: Signer, endsAt: number): Promise<string> {
  const signing = signer(user);
  if (signing === undefined) throw new Error("A session was to be made for a name that may not be in.");
  const content = `${encodeURIComponent(user)}.${endsAt}`;
  return `${content}.${await signature(content, signing)}`;
}

/** Whose session a value is; undefined for one that is forged, over, or of a name that may not be in any more. */
export async function readSession(value: string, signer: Signer, now: number): Promise<string | undefined> {
  // Names have dots in them: the end and the signature have none.
  const [, encoded = "", end = "", given = ""] = /^(.+)\.(\d{1,15})\.([\w-]+)$/.exec(value) ?? [];
  const user = decodePercent(encoded);
  const signing = user === undefined ? undefined : signer(user);
  if (user === undefined || user === "" || signing === undefined || Number(end) <= now) return undefined;
  return isSameSecret(given, await signature(`${encoded}.${end}`, signing)) ? user : undefined;
}

/** A browser sends a Secure cookie over HTTPS only; on the machine itself there is none. */
export function sessionCookie(value: string, maxAgeSeconds: number, url: URL): string {
  const secure = isLoopback(url.hostname) ? "" : " Secure;";
  return `${COOKIE}=${value}; Path=/; HttpOnly;${secure} SameSite=Lax; Max-Age=${maxAgeSeconds}`;
}

/** The cookie of a browser, and `?token=` in the address, for programs that have no cookies. */
export function sentSessions(request: Request): string[] {
  const cookie = new RegExp(`(?:^|;\\s*)${COOKIE}=([^;]+)`).exec(request.headers.get("cookie") ?? "")?.[1];
  return [cookie, new URL(request.url).searchParams.get("token")].filter((value) => typeof value === "string");
}

async function signature(content: string, { secret, hash }: { secret: string; hash: string }): Promise<string> {
  const encoder = new TextEncoder();
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", encoder.encode(secret), algorithm, false, ["sign"]);
  return base64url(new Uint8Array(await crypto.subtle.sign("HMAC", key, encoder.encode(`${content}\n${hash}`))));
}
