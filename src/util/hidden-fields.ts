// Fields that can be read and are no part of a copy: spreading, `structuredClone`, storing and RPC leave them out, where
// they would otherwise fail on a signal, a model or a function.

/** The same object with these fields added, as far as they have a value. */
export function withHidden<Target extends object, Hidden extends object>(
  target: Target,
  hidden: Hidden
): Target & Hidden {
  for (const [name, value] of Object.entries(hidden)) {
    if (value === undefined) continue;
    Object.defineProperty(target, name, { value, enumerable: false, writable: true, configurable: true });
  }
  // Every field of both can be read now.
  return target as Target & Hidden;
}
