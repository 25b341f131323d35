// The interpreter of bash is the package just-bash, an optional peer: it is loaded when it is first needed, once per
// isolate. Bundlers leave an import inside of try...catch alone when the package is not installed, and it fails here.
import { BashMissingError } from "../errors.ts";
import { err, ok, type Result } from "../../util/result.ts";
import { errorMessage } from "../../util/errors.ts";
import { lazyModule } from "../../host/lazy-module.ts";
import type { ShellModule } from "./interpreter.ts";

/** How Node, workerd and Vite say that there is no such module. */
const NOT_INSTALLED = /cannot find (?:package|module)|no such module|could not resolve|failed to resolve/i;

/** A package that is there and does not load is named in the log: without a shell the agent goes on all the same. */
export const loadShell = lazyModule(async (): Promise<Result<ShellModule, BashMissingError>> => {
  try {
    return ok(await import("just-bash"));
  } catch (error) {
    if (!NOT_INSTALLED.test(errorMessage(error))) console.warn("bash is not offered: just-bash does not load.", error);
    return err(new BashMissingError(error));
  }
});
