// The Loader port over a `worker_loaders` binding. Loaded code has no network; what it may reach is in its `env`.
import { LoaderMissingError } from "./errors.ts";
import type { Loader } from "./ports.ts";

export function openLoader(binding: WorkerLoader | undefined, compatibilityDate: string): Loader {
  return {
    load(id, code) {
      if (!binding) throw new LoaderMissingError();
      const worker = binding.get(id, async () => {
        const { mainModule, modules, env } = await code();
        return { compatibilityDate, mainModule, modules, env, globalOutbound: null };
      });
      return {
        fetch: (request) => worker.getEntrypoint().fetch(request),
        async call(entrypoint, method, ...args) {
          // Entry points of loaded code are known only at run time.
          const target = worker.getEntrypoint(entrypoint) as Fetcher &
            Record<string, (...values: unknown[]) => unknown>;
          const callee = target[method];
          if (!callee) throw new TypeError(`Loaded code has no method "${method}".`);
          // A property of a stub is a stub: its `apply` would be a call to the loaded code.
          return Reflect.apply(callee, target, args);
        }
      };
    }
  };
}
