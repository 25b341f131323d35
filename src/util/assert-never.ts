/** Makes a switch exhaustive: the compiler refuses a forgotten case, and a corrupt value fails loudly. */
export function assertNever(value: never): never {
  throw new Error(`Unexpected value: ${JSON.stringify(value)}`);
}
