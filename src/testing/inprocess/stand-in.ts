/**
 * The in-process host's objects implement what the platform's interfaces promise, but those are closed types: abstract
 * classes with brands, overload sets and generics no other implementation can satisfy. Every such cast goes through
 * here, so that "this is a fake of T" is one searchable decision.
 */
export function standIn<T>(fake: unknown): T {
  return fake as T;
}
