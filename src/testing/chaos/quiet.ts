// An agent that dies or meets garbage complains on the console, a thousand times over in a crash matrix. What it says
// there is neither compared nor needed, so it is not shown while a disturbed run is played.

const METHODS = ["debug", "info", "log", "warn", "error"] as const;

/** The console is silent while `work` runs; its own methods are back afterwards, whatever happened. */
export async function quietly<T>(work: () => Promise<T>): Promise<T> {
  const own = METHODS.map((method) => ({ method, say: console[method] }));
  for (const { method } of own) console[method] = () => {};
  try {
    return await work();
  } finally {
    for (const { method, say } of own) console[method] = say;
  }
}
