// Values of user code that come at once or later. What comes at once is used at once: no order changes because a hook could
// have been asynchronous.
export type MaybePromise<T> = T | Promise<T>;

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

export function whenDone<T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> {
  // Of the two, only a promise has `then`.
  return isThenable(value) ? (value as Promise<T>).then(next) : next(value);
}
