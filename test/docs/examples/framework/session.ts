// src/session.ts
const encoder = new TextEncoder();

/** A value that only this server can make: the user's name, when it ends, and a signature over both. */
export async function sessionCookie(user: string, secret: string, lifetimeSeconds = 86_400): Promise<string> {
  const content = `${encodeURIComponent(user)}.${Date.now() + lifetimeSeconds * 1000}`;
  const value = `${content}.${await signature(content, secret)}`;
  return `session=${value}; Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=${lifetimeSeconds}`;
}

export async function readSession(request: Request, secret: string): Promise<string | undefined> {
  const value = /(?:^|;\s*)session=([^;]+)/.exec(request.headers.get("cookie") ?? "")?.[1] ?? "";
  // Names may have dots in them: the end and the signature have none.
  const [, user = "", end = "", given = ""] = /^(.+)\.(\d+)\.([0-9a-f]+)$/.exec(value) ?? [];
  const expected = await signature(`${user}.${end}`, secret);
  const isSame = given.length === expected.length && timingSafeEqual(given, expected);
  return isSame && Number(end) > Date.now() ? decodeURIComponent(user) : undefined;
}

async function signature(content: string, secret: string): Promise<string> {
  // Without it every client could sign.
  if (!secret) throw new Error("SESSION_SECRET is not set.");
  const key = await crypto.subtle.importKey("raw", encoder.encode(secret), { name: "HMAC", hash: "SHA-256" }, false, [
    "sign"
  ]);
  const bytes = new Uint8Array(await crypto.subtle.sign("HMAC", key, encoder.encode(content)));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** In the same time wherever the two differ. */
function timingSafeEqual(one: string, other: string): boolean {
  let difference = 0;
  for (let index = 0; index < one.length; index += 1) difference |= one.charCodeAt(index) ^ other.charCodeAt(index);
  return difference === 0;
}
