// A `worker_loaders` binding in Node: each isolate is a context of its own, with its own globals and without network. It
// is no boundary against hostile code, as workerd's isolates are; it runs what runs there, so that agents which execute
// code can be tested in this process.
import { createContext, Script, type Context } from "node:vm";
import { trackForeignWork } from "./foreign-work.ts";

interface LoadedCode {
  readonly mainModule: string;
  readonly modules: Readonly<Record<string, { readonly js: string }>>;
}

type Exports = Record<string, unknown>;
type Entrypoint = Record<string, (...args: unknown[]) => Promise<unknown>>;

export interface TestLoader {
  load(code: never): { getEntrypoint(): unknown };
  get(id: string, code: () => never): { getEntrypoint(): unknown };
  /** Isolates that were made. */
  readonly loads: number;
}

/**
 * For `env` of a test host.
 *
 * @example
 * const host = createTestHost({ agents: { Assistant }, env: { LOADER: createTestLoader() } });
 */
export function createTestLoader(): TestLoader {
  const kept = new Map<string, Isolate>();
  let loads = 0;
  const open = (code: never) => {
    loads += 1;
    return new Isolate(code as LoadedCode);
  };
  return {
    get loads() {
      return loads;
    },
    load: open,
    get(id, code) {
      const isolate = kept.get(id) ?? open(code());
      kept.set(id, isolate);
      return isolate;
    }
  };
}

class Isolate {
  readonly #code: LoadedCode;
  readonly #context: Context;
  readonly #exports = new Map<string, Exports>();

  constructor(code: LoadedCode) {
    this.#code = code;
    const globals = {
      setTimeout: tracked,
      clearTimeout,
      setInterval: unkept,
      clearInterval,
      structuredClone,
      TextEncoder,
      URL
    };
    this.#context = createContext({ ...globals, TextDecoder, Request, Response, Headers, atob, btoa, queueMicrotask });
  }

  getEntrypoint(): unknown {
    const call =
      (method: string) =>
      (...args: unknown[]) =>
        this.#call(method, args);
    return new Proxy(
      {},
      { get: (_target, key) => (typeof key === "string" && key !== "then" ? call(key) : undefined) }
    );
  }

  async #call(method: string, args: readonly unknown[]): Promise<unknown> {
    // The default export of a main module is a class of WorkerEntrypoint.
    const Main = this.#import(this.#code.mainModule)["default"] as new () => Entrypoint;
    const entrypoint = new Main();
    const passed = args.map((one) => intoIsolate(one));
    return outOfIsolate(await entrypoint[method]?.(...passed));
  }

  /** A module's exports. Modules are written in the few forms that this package's own use. */
  #import(name: string): Exports {
    const known = this.#exports.get(name);
    if (known) return known;
    const source = this.#code.modules[name.replace(/^\.\//, "")]?.js;
    if (name === "cloudflare:workers") return { WorkerEntrypoint: class {} };
    if (source === undefined) throw new Error(`No such module: ${name}`);
    const exports: Exports = {};
    this.#exports.set(name, exports);
    const script = new Script(`(function (__import, __exports) { "use strict";${commonJs(source)}\n})`, {
      filename: name
    });
    const run = script.runInContext(this.#context) as (load: (name: string) => Exports, exports: Exports) => void;
    run((other) => this.#import(other.replace(/^\.\//, "")), exports);
    return exports;
  }
}

/** Work that goes on in the next moment is not silence; a longer timer is. */
function tracked(work: () => void, ms = 0): NodeJS.Timeout | undefined {
  if (ms > SHORT_MS) return setTimeout(work, ms).unref();
  const { promise, resolve } = Promise.withResolvers<void>();
  void trackForeignWork(promise);
  return setTimeout(() => {
    work();
    resolve();
  }, ms);
}

const SHORT_MS = 100;

/** The timer of a guard must not keep the test's process alive. */
function unkept(work: () => void, ms: number): NodeJS.Timeout {
  return setInterval(work, ms).unref();
}

function commonJs(source: string): string {
  return source
    .replaceAll(/^import \{([^}]*)\} from ("[^"]*");$/gm, (_line, names: string, from: string) => {
      return `const {${names.replaceAll(" as ", ": ")}} = __import(${from});`;
    })
    .replaceAll(/^import (\w+) from ("[^"]*");$/gm, "const { default: $1 } = __import($2);")
    .replaceAll(/^export function (\w+)/gm, "__exports.$1 = $1; function $1")
    .replace(/^export default /m, "__exports.default = ");
}

/** As over RPC: values are copied, functions are called on the other side with copied arguments. */
function intoIsolate(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value);
  if (!entries.some(([, one]) => typeof one === "function")) return structuredClone(value);
  return Object.fromEntries(
    entries.map(([key, one]: [string, unknown]) => [
      key,
      typeof one === "function"
        ? (...args: unknown[]) => called(one as (...args: unknown[]) => unknown, args)
        : structuredClone(one)
    ])
  );
}

/** Not foreign work: what the agent does is known to the host, and in a process that died it never ends. */
async function called(work: (...args: unknown[]) => unknown, args: readonly unknown[]): Promise<unknown> {
  return structuredClone(await work(...args.map((one) => structuredClone(one))));
}

function outOfIsolate(value: unknown): unknown {
  return structuredClone(value);
}
