// Secrets and signatures, compared in constant time.

/** Takes as long for equal texts as for different ones of the same length. */
export function isSameSecret(given: string | null, expected: string): boolean {
  if (given === null || expected === "") return false;
  const a = new TextEncoder().encode(given);
  const b = new TextEncoder().encode(expected);
  let difference = a.length ^ b.length;
  for (const [index, byte] of b.entries()) difference |= byte ^ (a[index] ?? 0);
  return difference === 0;
}
