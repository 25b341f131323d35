// Whether a webhook is Microsoft's: a token that the Bot Framework signed for this app, checked before the body is parsed;
// and whether it is about a user of Teams, of a tenant that the bot is for.
// The keys are fetched once a day, and again for a key that is not known, at most once a minute.
import { decodeBase64, encodeBase64, encodeText } from "../../../util/bytes.ts";
import { parseFields, readFields, type Fields } from "../fields.ts";
import { callProvider } from "../provider-call.ts";

const OPEN_ID_URL = "https://login.botframework.com/v1/.well-known/openidconfiguration";
const ISSUER = "https://api.botframework.com";
const SKEW_S = 300;
const KEYS_TTL_MS = 24 * 3_600_000;
const REFRESH_PAUSE_MS = 60_000;
/** How long webhooks wait for the keys; one that gets none is answered 500. */
const FETCH_LIMIT_MS = 10_000;
const RSA = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };

export interface TeamsTokenOptions {
  readonly appId: string;
  /** Tenants whose users are answered. Default: every tenant that has the app. */
  readonly tenants?: readonly string[];
  /** The address at which the keys are found. Default: the Bot Framework's. */
  readonly openIdUrl?: string;
}

/** The channel of the Bot Framework whose users have signed in. In others, such as a web chat, a sender says who it is. */
const CHANNEL = "msteams";

/** Makes the check of a webhook. */
export function teamsTokenVerifier(options: TeamsTokenOptions): (request: Request) => Promise<boolean> {
  const keys = new SigningKeys(options.openIdUrl ?? OPEN_ID_URL);
  return async (request) => {
    const [scheme, token = ""] = (request.headers.get("Authorization") ?? "").split(" ");
    if (scheme?.toLowerCase() !== "bearer") return false;
    const verified = await verify(token, keys);
    if (!verified || !areCurrent(verified.claims, options.appId)) return false;
    const activity = parseFields(await request.text());
    if (activity["channelId"] !== CHANNEL || !isEndorsed(verified.key)) return false;
    if (options.tenants && !isOfTenants(activity, options.tenants)) return false;
    const { serviceUrl } = activity;
    const claimed = verified.claims["serviceurl"] ?? verified.claims["serviceUrl"];
    // Answers go to the address in the body, with the app's own token.
    return typeof serviceUrl === "string" && serviceUrl === claimed;
  };
}

/** Whether a key may sign for the channel: some keys sign for some channels only. */
function isEndorsed({ endorsements }: SigningKey): boolean {
  return endorsements === undefined || endorsements.includes(CHANNEL);
}

/** Whether an activity is of one of these tenants. It names its tenant in two places; neither may name another one. */
function isOfTenants({ conversation, channelData }: Fields, tenants: readonly string[]): boolean {
  const named = [readFields(conversation)["tenantId"], readFields(readFields(channelData)["tenant"])["id"]];
  const given = named.filter((tenant) => tenant !== undefined);
  return given.length > 0 && given.every((tenant) => tenants.some((known) => known === tenant));
}

/** Verifies the signature of a token. Undefined: no known key signed it. */
async function verify(
  token: string,
  keys: SigningKeys
): Promise<{ readonly claims: Fields; readonly key: SigningKey } | undefined> {
  const [header = "", payload = "", signature = "", ...rest] = token.split(".");
  const { alg, kid } = decode(header);
  if (alg !== "RS256" || typeof kid !== "string" || rest.length > 0) return undefined;
  const key = await keys.get(kid);
  const bytes = fromBase64Url(signature);
  if (!key || !bytes) return undefined;
  const isSigned = await crypto.subtle.verify(RSA, key.key, bytes, new TextEncoder().encode(`${header}.${payload}`));
  return isSigned ? { claims: decode(payload), key } : undefined;
}

function areCurrent({ iss, aud, exp, nbf }: Fields, appId: string): boolean {
  const now = Date.now() / 1_000;
  if (iss !== ISSUER || aud !== appId || typeof exp !== "number") return false;
  return exp + SKEW_S > now && (typeof nbf !== "number" || nbf - SKEW_S <= now);
}

interface SigningKey {
  readonly key: CryptoKey;
  readonly endorsements?: readonly string[];
}

class SigningKeys {
  readonly #url: string;
  #keys = new Map<string, SigningKey>();
  #fetchedAt = 0;
  #fetching: Promise<void> | undefined;

  constructor(url: string) {
    this.#url = url;
  }

  async get(kid: string): Promise<SigningKey | undefined> {
    const age = Date.now() - this.#fetchedAt;
    const isKnown = this.#keys.has(kid);
    if (age > KEYS_TTL_MS || (!isKnown && age > REFRESH_PAUSE_MS)) await this.#refresh(isKnown);
    return this.#keys.get(kid);
  }

  /** Fetches the keys again. A failure is the webhook's, unless the key is known. */
  async #refresh(isKnown: boolean): Promise<void> {
    this.#fetching ??= this.#fetch().finally(() => (this.#fetching = undefined));
    try {
      await this.#fetching;
    } catch (error) {
      if (!isKnown) throw error;
      console.warn("The keys of the Bot Framework could not be read again; the known ones are used.", error);
    }
  }

  async #fetch(): Promise<void> {
    const signal = AbortSignal.timeout(FETCH_LIMIT_MS);
    const { jwks_uri: jwksUri } = await callProvider("openid", this.#url, { signal });
    const { keys } = await callProvider("jwks", String(jwksUri), { signal });
    const imported = new Map<string, SigningKey>();
    for (const jwk of Array.isArray(keys) ? (keys as (JsonWebKey & { kid?: string; endorsements?: string[] })[]) : []) {
      if (jwk.kty !== "RSA" || jwk.kid === undefined) continue;
      const { kty = "RSA", n = "", e = "", endorsements } = jwk;
      const key = await crypto.subtle.importKey("jwk", { kty, n, e }, RSA, false, ["verify"]);
      imported.set(jwk.kid, { key, endorsements: Array.isArray(endorsements) ? endorsements : undefined });
    }
    this.#keys = imported;
    this.#fetchedAt = Date.now();
  }
}

function decode(part: string): Fields {
  return parseFields(new TextDecoder().decode(fromBase64Url(part)));
}

/** Decodes a text. Undefined for one that is not base64. */
export function fromBase64Url(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return decodeBase64(text.replaceAll("-", "+").replaceAll("_", "/"));
  } catch {
    // Not base64.
    return undefined;
  }
}

export function toBase64Url(text: string): string {
  return encodeBase64(encodeText(text)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
