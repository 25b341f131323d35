// What a script in an isolate can call. Failures are values: a rejection that crosses the isolates is logged by the
// platform.
import { errorMessage } from "../../../util/errors.ts";
import type { Capabilities } from "./capabilities.ts";

export type HostFunction = (...args: never[]) => Promise<{ value: unknown } | { error: string }>;

export function scriptFunctions(capabilities: Capabilities): Readonly<Record<string, HostFunction>> {
  const { fetch } = capabilities;
  return {
    readFile: answering((path: string) => capabilities.readFile(path)),
    listFiles: answering((path: string) => capabilities.listFiles(path)),
    glob: answering((pattern: string) => capabilities.glob(pattern)),
    stat: answering((path: string) => capabilities.stat(path)),
    writeFile: answering((path: string, content: string) => capabilities.writeFile(path, content)),
    writeOutput: answering((name: string, content: unknown) => capabilities.writeOutput(name, content)),
    tool: answering(async (name: string, input: unknown) => plain(await capabilities.callTool(name, input))),
    ...(fetch && { fetch: answering((url: string, options: object) => fetch(url, options)) })
  };
}

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

/** JSON, as the model would be given it. */
function plain(value: unknown): unknown {
  return value === undefined ? null : (JSON.parse(JSON.stringify(value) ?? "null") as unknown);
}
