// Packages that most objects never need are loaded when one does. Only packages: where a build is one file, as Wrangler's
// is, a module of ours behind `import()` puts everything it shares with the rest into functions that are called at the
// start, which costs more than the module. Each is loaded once per isolate.
import { loading } from "#platform";

/** Of every lazy module that is known so far. */
const loads: (() => unknown)[] = [];

/** `load` has the `import()`, with the name of the module in place, so that bundlers see it. A failure is tried again. */
export function lazyModule<Module>(load: () => Promise<Module>): () => Promise<Module> {
  let loaded: Promise<Module> | undefined;
  const once = () => {
    loaded ??= loading(load()).catch((error: unknown) => {
      loaded = undefined;
      throw error;
    });
    return loaded;
  };
  loads.push(once);
  return once;
}

/** For test kits that compare two runs: the first must not be the one that loads. */
export async function loadLazyModules(): Promise<void> {
  // A module may bring lazy ones of its own.
  for (let index = 0; index < loads.length; index += 1) await loads[index]?.();
}
