// What takes types out of TypeScript: the package sucrase, an optional peer that is loaded with the first code that needs it.
import { lazyModule } from "../host/lazy-module.ts";

type Transform = (
  text: string,
  options: { transforms: ("typescript" | "jsx")[]; disableESTransforms: true }
) => { code: string };

/** Undefined: not installed. Bundlers leave an import inside of try...catch alone when the package is not there. */
export const loadTransform = lazyModule(async (): Promise<Transform | undefined> => {
  try {
    return (await import("sucrase")).transform;
  } catch {
    // The caller's error names the package.
    return undefined;
  }
});
