// A wait that ends at once when its signal fires.

/** Resolves after the time, or when the signal fires. Nothing is waited for with 0. */
export async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  if (ms <= 0 || signal?.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const wake = () => resolve();
  const timer = setTimeout(wake, ms);
  signal?.addEventListener("abort", wake);
  await promise;
  clearTimeout(timer);
  signal?.removeEventListener("abort", wake);
}
