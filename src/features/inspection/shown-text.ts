// Values of any size and any content as bounded text. Nothing here interprets what it shows.
import type { ShownText } from "./views.ts";

/** Characters of one text in a view. */
const SHOWN_CHARS = 20_000;
const PREVIEW_CHARS = 160;

/** A text as it is, anything else as JSON. */
export function shownText(value: unknown, maxChars: number = SHOWN_CHARS, from = 0): ShownText {
  const whole = typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
  const text = wholeCharacters(whole.slice(from, from + maxChars));
  return { text, chars: whole.length, isCut: from + text.length < whole.length };
}

/** One line. */
export function preview(text: string): string {
  const line = text
    .slice(0, PREVIEW_CHARS * 4)
    .replace(/\s+/g, " ")
    .trim();
  return line.length <= PREVIEW_CHARS ? line : `${wholeCharacters(line.slice(0, PREVIEW_CHARS - 1))}…`;
}

/** Without half of a character at its end. */
function wholeCharacters(text: string): string {
  return /[\uD800-\uDBFF]$/.test(text) ? text.slice(0, -1) : text;
}

/** Names under which programs keep what no person should read over a shoulder. */
const SECRET_NAME =
  /secret|verifier|token|password|passwd|api[-_]?key|authorization|credential|private[-_]?key|cookie|^key$|_key$/i;
/** What such values look like, whatever they are called. */
const SECRET_VALUE = /^(?:sk|pk|rk|ghp|gho|xox[abprs]|AKIA|eyJ)[-_A-Za-z0-9.]{12,}|^Bearer\s+\S+|^-----BEGIN /;
export const MASK = "••••••";
const MAX_DEPTH = 32;

/** Whether what stands under this name is not to be read. A number of a model's tokens is. */
export function isSecret(name: string, value: unknown): boolean {
  const isCount = typeof value === "number" && /tokens/i.test(name);
  return SECRET_NAME.test(name) && !isCount;
}

/** A copy in which what looks like a secret is masked. Pure. */
export function masked(value: unknown, depth = 0): unknown {
  if (depth > MAX_DEPTH) return MASK;
  if (typeof value === "string") return SECRET_VALUE.test(value) ? MASK : withoutUserInfo(value);
  if (Array.isArray(value)) return value.map((item) => masked(item, depth + 1));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      const hides = isSecret(name, inner) && inner !== null && inner !== "" && typeof inner !== "boolean";
      return [name, hides ? MASK : masked(inner, depth + 1)];
    })
  );
}

/** The password of an address such as `https://user:password@host`, and parameters named like secrets. */
function withoutUserInfo(text: string): string {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return text;
  const plain = text.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#@]*@/i, `$1${MASK}@`);
  return plain.replace(/([?&][^=&#]*(?:token|key|secret|password)[^=&#]*=)[^&#]*/gi, `$1${MASK}`);
}
