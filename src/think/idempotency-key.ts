// The key under which a caller makes a call, as the engine knows it.
import { idempotencyId } from "../turn/idempotency.ts";
import { byteLength } from "../util/bytes.ts";
import { InvalidKeyError } from "./errors.ts";

/** Bytes of a key. */
export const KEY_LIMIT_BYTES = 1_024;

/** Throws InvalidKeyError. The value may come over RPC, untyped. */
export function keyId(kind: Parameters<typeof idempotencyId>[0], key: unknown): string {
  if (typeof key !== "string" || key.trim() === "") throw new InvalidKeyError("it is blank, or not a text");
  if (byteLength(key) > KEY_LIMIT_BYTES) throw new InvalidKeyError(`it has more than ${KEY_LIMIT_BYTES} bytes`);
  return idempotencyId(kind, key);
}
