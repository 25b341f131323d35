// Where the code of a pass runs: in an isolate of its own, or with an executor that user code brings.
import { disposeCall, openIsolate, type IsolateLoader } from "../../sandbox/isolate.ts";
import { isObject } from "../../util/json.ts";
import { programModules, programText, type ProgramInit } from "./program.ts";

/** What a pass gives its code: functions of one argument each, which never reject. */
export type PassFunctions = Readonly<Record<string, (argument: unknown) => Promise<unknown>>>;

export interface CodeRunner {
  /** Resolves with `{ value | error, logs }` of the program, which is untrusted. `dispose` ends the call. */
  start(program: ProgramInit, payload: object, functions: PassFunctions): { ended: Promise<unknown>; dispose(): void };
}

/** Runs code somewhere else: in another process, another engine, another service. */
export interface CodeExecutor {
  /** `code` is the text of a function; it finds each provider's functions under the provider's name. */
  execute(
    code: string,
    providers: { readonly name: string; readonly fns: PassFunctions }[]
  ): Promise<{ readonly result: unknown; readonly error?: string | undefined; readonly logs?: readonly string[] }>;
}

export interface IsolateSettings {
  readonly loader: IsolateLoader;
  readonly cpuMs: number;
  readonly outbound: object | null;
}

export function isolateRunner({ loader, cpuMs, outbound }: IsolateSettings): CodeRunner {
  return {
    start(program, payload, functions) {
      const modules = programModules(program);
      const entrypoint = openIsolate<{ run(payload: object, host: object): Promise<unknown> }>({
        loader,
        modules,
        cpuMs,
        outbound
      });
      const ended = entrypoint.run(payload, functions);
      return { ended, dispose: () => disposeCall(ended) };
    }
  };
}

/** The name under which code of an executor finds the functions of the pass. */
const HOST = "everthinkHost";

/** Numbers, order and pauses are those of the program, as in an isolate; bounds on time and memory are the executor's. */
export function executorRunner(executor: CodeExecutor): CodeRunner {
  const run = async (text: string, functions: PassFunctions): Promise<unknown> => {
    const { result, error, logs } = await executor.execute(text, [{ name: HOST, fns: functions }]);
    if (error === undefined || isObject(result)) return result;
    return { error: { name: "Error", message: String(error) }, logs: logs ?? [] };
  };
  return {
    start: (program, payload, functions) => ({
      ended: run(programText(program, payload, HOST), functions),
      dispose: () => undefined
    })
  };
}
