// How errors look on the other side of an object boundary: a new Error with the same name, message, cause and own
// properties, `remote: true`; the class is kept only for JavaScript's own errors.

const NATIVE = { Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError, AggregateError };

type CopyValue = (value: unknown) => unknown;

/** A copy of `error` as a value; properties that cannot cross reduce it to its text, as on the platform. */
export function copyError(error: Error, copyValue: CopyValue): Error {
  if (error instanceof DOMException) return new DOMException(error.message, error.name);
  const copy = emptyLike(error);
  try {
    for (const key of Object.keys(error)) Reflect.set(copy, key, copyValue(Reflect.get(error, key)));
    if (error.cause !== undefined) copy.cause = copyValue(error.cause);
    if (error instanceof AggregateError) Reflect.set(copy, "errors", copyValue(error.errors));
  } catch {
    // The properties are the part that is safe to lose; the text still says what happened.
    return flattenError(error);
  }
  if (copy.name !== error.name) hidden(copy, "name", error.name);
  // Node's own trace of where it was thrown is worth more to a test than the platform's trace of the caller.
  hidden(copy, "stack", error.stack);
  return copy;
}

/** What a thrown value becomes for the remote caller. */
export function remoteError(thrown: unknown, copyValue: CopyValue): Error {
  const error = thrown instanceof Error ? copyError(thrown, copyValue) : new Error(String(thrown));
  return Object.assign(error, { remote: true });
}

/** Class and properties lost, as across `fetch` and `abort`: a custom error keeps its name only inside the text. */
export function flattenError(thrown: unknown): Error {
  if (!(thrown instanceof Error)) return new Error(String(thrown));
  if (thrown.name in NATIVE) {
    const copy = emptyLike(thrown);
    hidden(copy, "stack", thrown.stack);
    return copy;
  }
  return new Error(`${thrown.name}: ${thrown.message}`);
}

/** Marks an error as the reason an object was reset. */
export function resetError(error: Error): Error {
  return Object.assign(error, { durableObjectReset: true });
}

function emptyLike(error: Error): Error {
  if (error instanceof AggregateError) return new AggregateError([], error.message);
  for (const [name, native] of Object.entries(NATIVE)) {
    if (name !== "Error" && name !== "AggregateError" && error instanceof native) {
      return Reflect.construct(native, [error.message]);
    }
  }
  return new Error(error.message);
}

function hidden(target: Error, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, writable: true, configurable: true, enumerable: false });
}
