// Whether a webhook is Discord's: an Ed25519 signature of its time and its body, with a time that an old copy cannot have.
import { fromHex } from "../../../util/hex.ts";

/** The age of a webhook, in seconds, past which it counts as a copy that is sent again. */
const MAX_SKEW_S = 300;

/** Makes the check of a webhook. `publicKey` is the application's, 64 hexadecimal digits. */
export function discordSignatureVerifier(publicKey: string): (request: Request) => Promise<boolean> {
  let imported: Promise<CryptoKey> | undefined;
  return async (request) => {
    const timestamp = request.headers.get("x-signature-timestamp") ?? "";
    const signature = fromHex(request.headers.get("x-signature-ed25519") ?? "");
    if (!/^\d{1,12}$/.test(timestamp) || signature?.byteLength !== 64) return false;
    if (Math.abs(Date.now() / 1_000 - Number(timestamp)) > MAX_SKEW_S) return false;
    const body = new TextEncoder().encode(timestamp + (await request.text()));
    imported ??= importKey(publicKey);
    return crypto.subtle.verify("Ed25519", await imported, signature, body);
  };
}

function importKey(publicKey: string): Promise<CryptoKey> {
  return crypto.subtle.importKey("raw", fromHex(publicKey) ?? new Uint8Array(), "Ed25519", false, ["verify"]);
}

export function isDiscordPublicKey(publicKey: string): boolean {
  return fromHex(publicKey)?.byteLength === 32;
}
