// The functions that a script in an isolate can call. Failures are values: the platform logs a rejection that crosses the
// isolates.
import { errorMessage } from "../../../util/errors.ts";
import type { Capabilities } from "./capabilities.ts";

export type HostFunction = (...args: never[]) => Promise<{ value: unknown } | { error: string }>;

export function scriptFunctions(capabilities: Capabilities): Readonly<Record<string, HostFunction>> {
  const { fetch } = capabilities;
  const functions = {
    readFile: answering((path: string) => capabilities.readFile(path)),
    listFiles: answering((path: string) => capabilities.listFiles(path)),
    glob: answering((pattern: string) => capabilities.glob(pattern)),
    stat: answering((path: string) => capabilities.stat(path)),
    writeFile: answering((path: string, content: string) => capabilities.writeFile(path, content)),
    writeOutput: answering((name: string, content: unknown) => capabilities.writeOutput(name, content)),
    tool: answering(async (name: string, input: unknown) => toJson(await capabilities.callTool(name, input)))
  };
  if (!fetch) return functions;
  return { ...functions, fetch: answering((url: string, options: object) => fetch(url, options)) };
}

/** Makes a function whose failure is a value. */
function answering<Args extends never[]>(call: (...args: Args) => unknown): HostFunction {
  return async (...args) => {
    try {
      // What a script passes may be anything, and is checked by what is called.
      return { value: await call(...(args as Args)) };
    } catch (error) {
      return { error: errorMessage(error) };
    }
  };
}

/** Makes JSON of a result, as the model would be given it. */
function toJson(value: unknown): unknown {
  return value === undefined ? null : (JSON.parse(JSON.stringify(value) ?? "null") as unknown);
}
