// SHA-256 without waiting: the page's own digest is asynchronous.
export { createHash } from "./sha256.ts";
export const randomUUID = () => crypto.randomUUID();
export function timingSafeEqual(one: Uint8Array, other: Uint8Array): boolean {
  return one.every((byte, index) => byte === other[index]);
}
