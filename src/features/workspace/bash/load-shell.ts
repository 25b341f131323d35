// The interpreter of bash is the package just-bash, an optional peer: it is loaded with the first script, once per isolate,
// because it takes seconds where modules are fetched one by one. Whether the model is offered the tool is decided without
// loading it, where that can be known. Bundlers leave an import inside of try...catch alone when the package is not
// installed, and it fails here.
import { workspaceErrors } from "../errors.ts";
import { err, ok, type Result } from "../../../util/result.ts";
import { errorMessage, type ThinkError } from "../../../util/errors.ts";
import { lazyModule } from "../../../host/lazy-module.ts";
import type { ShellModule } from "./interpreter.ts";

/** Messages with which Node, workerd and Vite say that there is no such module. */
const NOT_INSTALLED = /cannot find (?:package|module)|no such module|could not resolve|failed to resolve/i;

type LoadedShell = Result<ShellModule, ThinkError>;

/** The result of the one attempt to load it; undefined until then. */
let outcome: LoadedShell | undefined;

/** Loads the interpreter. A package that is there and does not load is named in the log; the agent goes on without a shell. */
async function importShell(): Promise<LoadedShell> {
  try {
    outcome = ok(await import("just-bash"));
  } catch (error) {
    if (!NOT_INSTALLED.test(errorMessage(error))) console.warn("bash is not offered: just-bash does not load.", error);
    outcome = err(workspaceErrors.BashMissingError(error));
  }
  return outcome;
}

export const loadShell = lazyModule(importShell);

/** Whether a script can be run. Loads the interpreter only where that is the only way to know. */
export async function findShell(): Promise<Result<true, ThinkError>> {
  if (outcome === undefined && isResolved(String(importShell), "just-bash")) return ok(true);
  const shell = await loadShell();
  return shell.ok ? ok(true) : shell;
}

/**
 * Whether a bundler has found the module that this code imports: then it has put the module's place where its name was.
 * What it did not find keeps its name, or gets Vite's replacement for an optional peer that is missing. Code that no
 * bundler has read keeps the name too.
 */
export function isResolved(code: string, name: string): boolean {
  return !["'", '"', "`"].some((quote) => code.includes(quote + name + quote)) && !code.includes("optional-peer-dep");
}
