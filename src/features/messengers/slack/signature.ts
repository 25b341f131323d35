// Whether a webhook is Slack's: the signature of its body, with a time that an old copy cannot have.
import { toHex } from "../../../util/hex.ts";
import { isSameSecret } from "../../../util/same-secret.ts";

/** The age of a webhook, in seconds, past which it counts as a copy that is sent again. */
const MAX_SKEW_S = 300;

/** Makes the check of the header `x-slack-signature`: HMAC-SHA256 of `v0:<timestamp>:<body>`. */
export function slackSignatureVerifier(signingSecret: string): (request: Request) => Promise<boolean> {
  return async (request) => {
    const timestamp = request.headers.get("x-slack-request-timestamp") ?? "";
    const signature = request.headers.get("x-slack-signature") ?? "";
    // Without a secret every sender could sign.
    if (!/^\d{1,12}$/.test(timestamp) || signature === "" || signingSecret === "") return false;
    if (Math.abs(Date.now() / 1_000 - Number(timestamp)) > MAX_SKEW_S) return false;
    const expected = await sign(signingSecret, timestamp, await request.text());
    return isSameSecret(signature, expected);
  };
}

async function sign(secret: string, timestamp: string, body: string): Promise<string> {
  const encoder = new TextEncoder();
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", encoder.encode(secret), algorithm, false, ["sign"]);
  const mac = await crypto.subtle.sign("HMAC", key, encoder.encode(`v0:${timestamp}:${body}`));
  return `v0=${toHex(mac)}`;
}
