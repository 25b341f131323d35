// A short name of an input that does not depend on the order of its keys. Pure.
import { sha256 } from "../host/blobs.ts";
import { canonicalJson } from "../util/json.ts";
import { ActionPolicyError } from "./errors.ts";
import { jsonCopy } from "./json-copy.ts";

/** The input as JSON text, and its hash. Throws ActionPolicyError for an input that has no JSON. */
export function hashedInput(action: string, input: unknown): { text: string; hash: string } {
  const copied = jsonCopy(input);
  if (!copied.ok) throw new ActionPolicyError(action, `its input has no JSON (${copied.error})`);
  const text = canonicalJson(copied.value ?? null);
  return { text, hash: sha256(text) };
}
