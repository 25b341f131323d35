// Extensions: tools that are loaded at run time, each in an isolate of its own. What one may reach is decided here, at each
// call; what it says about itself is not trusted.
import { dynamicTool, jsonSchema, type ToolSet } from "ai";
import { disposeCall, openIsolate, type IsolateLoader } from "../sandbox/isolate.ts";
import { schemaProblem } from "../sandbox/json-schema.ts";
import { errorMessage } from "../util/errors.ts";
import { isObject } from "../util/json.ts";
import { ExtensionError } from "./errors.ts";
import {
  checkManifest,
  sanitizeName,
  type CheckedManifest,
  type ExtensionInfo,
  type ExtensionManifest
} from "./manifest.ts";
import { gatedFetch } from "./network-gate.ts";
import { extensionModules, FORMAT } from "./program.ts";

const STORED_PREFIX = "ext:";
const DEFAULT_TOOL_TIMEOUT_MS = 30_000;
const CPU_MS = 5_000;
/** Calls of one run of a tool to files and network. */
const MAX_HOST_CALLS = 200;
const MAX_REQUESTS = 50;
const MAX_WRITTEN_CHARS = 1_000_000;
const MAX_TOOLS = 50;
const TOOL_NAME = /^[A-Za-z_][\w-]{0,63}$/;

/** The files that extensions with the permission may use. */
export interface ExtensionFiles {
  readFile(path: string): unknown;
  writeFile(path: string, content: string): unknown;
  readDir(path: string): unknown;
  rm(path: string): unknown;
  stat(path: string): unknown;
}

/** Where extensions are kept; `ctx.storage` of a Durable Object is one. */
export interface ExtensionStorage {
  put(key: string, value: unknown): Promise<unknown>;
  delete(key: string): Promise<unknown>;
  list(options: { prefix: string }): Promise<Map<string, unknown>>;
}

export interface ExtensionManagerOptions {
  /** The `worker_loaders` binding. */
  readonly loader: IsolateLoader;
  /** Without it extensions are gone with the process. */
  readonly storage?: ExtensionStorage;
  /** For extensions with the permission `workspace`. */
  readonly workspace?: ExtensionFiles;
  /** Milliseconds of one call of a tool; 30,000 by default. */
  readonly toolTimeout?: number;
  /** For extensions with the permission `network`. */
  readonly fetch?: typeof fetch;
  /** Names that tools of extensions may not take, such as those of the agent's own tools. */
  readonly reservedNames?: readonly string[];
}

export interface ExtensionToolDescriptor {
  readonly name: string;
  readonly description: string;
  readonly schema: object;
}

interface Loaded {
  readonly manifest: CheckedManifest;
  readonly source: string;
  readonly prefix: string;
  readonly modules: Readonly<Record<string, string>>;
  readonly tools: readonly ExtensionToolDescriptor[];
}

interface ExtensionEntrypoint {
  describe(): Promise<unknown>;
  call(name: string, args: string, functions: object): Promise<unknown>;
}

/**
 * Loads extensions and gives their tools.
 *
 * @example
 * const extensions = new ExtensionManager({ loader: this.env.LOADER, storage: this.ctx.storage });
 * await extensions.load({ name: "greeter", version: "1.0.0" }, `({ tools: { greet: { execute: () => "hello" } } })`);
 */
export class ExtensionManager {
  readonly #options: ExtensionManagerOptions;
  readonly #loaded = new Map<string, Loaded>();
  readonly #failed = new Map<string, ExtensionInfo>();
  #restored: Promise<void> | undefined;

  constructor(options: ExtensionManagerOptions) {
    this.#options = options;
  }

  /** Throws ExtensionError; then nothing is loaded or stored. */
  async load(manifest: ExtensionManifest, source: string): Promise<ExtensionInfo> {
    const extension = await this.#opened(manifest, source);
    const { name } = extension.manifest;
    this.#admit(extension);
    try {
      await this.#options.storage?.put(STORED_PREFIX + name, { manifest: extension.manifest, source });
    } catch (error) {
      this.#loaded.delete(name);
      throw new ExtensionError(`The extension "${name}" could not be stored.`, error);
    }
    this.#failed.delete(name);
    return infoOf(extension);
  }

  /** False if there is none of that name. Its tools fail from now on. */
  async unload(name: string): Promise<boolean> {
    const isKnown = this.#loaded.delete(name) || this.#failed.delete(name);
    if (isKnown) await this.#options.storage?.delete(STORED_PREFIX + name);
    return isKnown;
  }

  /** Loads what is stored, once. One that cannot be loaded is listed as failed; the others are loaded. */
  restore(): Promise<void> {
    return (this.#restored ??= this.#restore().catch((error: unknown) => {
      // The storage failed, and may answer the next time.
      this.#restored = undefined;
      throw error;
    }));
  }

  /** In the order in which they were loaded; then those that failed. */
  list(): ExtensionInfo[] {
    return [...[...this.#loaded.values()].map(infoOf), ...this.#failed.values()];
  }

  getManifest(name: string): ExtensionManifest | undefined {
    return this.#loaded.get(name)?.manifest;
  }

  /** As it was loaded; undefined if there is none of that name. */
  getSource(name: string): string | undefined {
    return this.#loaded.get(name)?.source;
  }

  /** One tool per tool of an extension, named `<prefix>_<tool>`. */
  getTools(): ToolSet {
    const tools: ToolSet = {};
    for (const extension of this.#loaded.values()) {
      for (const described of extension.tools)
        tools[`${extension.prefix}_${described.name}`] = this.#tool(extension, described);
    }
    return tools;
  }

  /** Checks a manifest and a source as `load` does, and loads nothing. */
  async check(manifest: ExtensionManifest, source: string): Promise<ExtensionInfo> {
    return infoOf(await this.#opened(manifest, source));
  }

  async #restore(): Promise<void> {
    const stored = (await this.#options.storage?.list({ prefix: STORED_PREFIX })) ?? new Map<string, unknown>();
    for (const [key, value] of stored) {
      const name = key.slice(STORED_PREFIX.length);
      if (this.#loaded.has(name)) continue;
      try {
        const { manifest, source } = isObject(value) ? value : {};
        if (typeof source !== "string") throw new ExtensionError("What is stored of it cannot be read.");
        this.#admit(await this.#opened(checkManifest(manifest), source));
      } catch (error) {
        console.error(`The extension "${name}" could not be loaded again:`, error);
        const permissions = { network: [], workspace: "none" as const };
        this.#failed.set(name, {
          name,
          version: "",
          tools: [],
          permissions,
          status: "failed",
          error: errorMessage(error)
        });
      }
    }
  }

  /** Checked and described, and not loaded yet. */
  async #opened(given: ExtensionManifest, source: string): Promise<Loaded> {
    const manifest = checkManifest(given);
    const { name } = manifest;
    const prefix = sanitizeName(name);
    this.#refuseClash(name, prefix);
    const modules = await extensionModules(name, source);
    const tools = describedTools(name, await this.#describe(modules));
    const taken = tools.find((tool) => this.#options.reservedNames?.includes(`${prefix}_${tool.name}`));
    if (taken) throw new ExtensionError(`The agent has a tool "${prefix}_${taken.name}" already.`);
    return { manifest, source, prefix, modules, tools };
  }

  /** While it was described another of its name may have been loaded: nothing is awaited between the check and this. */
  #admit(extension: Loaded): void {
    const { name } = extension.manifest;
    this.#refuseClash(name, extension.prefix);
    this.#loaded.set(name, extension);
  }

  #refuseClash(name: string, prefix: string): void {
    if (this.#loaded.has(name)) throw new ExtensionError(`The extension "${name}" is already loaded.`);
    const other = [...this.#loaded.values()].find((one) => one.prefix === prefix);
    if (other) throw new ExtensionError(`"${name}" would have the same tool names as "${other.manifest.name}".`);
  }

  async #describe(modules: Loaded["modules"]): Promise<unknown> {
    const call = this.#entrypoint(modules).describe();
    const answer = await this.#within(call, new AbortController().signal);
    const { error, value } = isObject(answer) ? answer : {};
    if (error !== undefined)
      throw new ExtensionError(`The source threw while it was loaded: ${String(error).slice(0, 500)}`);
    return value;
  }

  #entrypoint(modules: Loaded["modules"]): ExtensionEntrypoint {
    return openIsolate<ExtensionEntrypoint>({ loader: this.#options.loader, modules, cpuMs: CPU_MS });
  }

  #tool(extension: Loaded, { name, description, schema }: ExtensionToolDescriptor) {
    return dynamicTool({
      description: `[${extension.manifest.name}] ${description}`,
      inputSchema: jsonSchema(schema, {
        validate: (value) => {
          const problem = schemaProblem(schema, value);
          return problem === undefined
            ? { success: true, value }
            : { success: false, error: new TypeError(`Invalid input for ${name}: ${problem}`) };
        }
      }),
      execute: (input, { abortSignal }) => this.#call(extension, name, { input, abortSignal })
    });
  }

  async #call(
    extension: Loaded,
    tool: string,
    { input, abortSignal }: { input: unknown; abortSignal?: AbortSignal | undefined }
  ): Promise<unknown> {
    const { name } = extension.manifest;
    if (this.#loaded.get(name) !== extension) throw new ExtensionError(`The extension "${name}" has been unloaded.`);
    const schema = extension.tools.find((one) => one.name === tool)?.schema;
    const problem = schemaProblem(schema, input);
    if (problem !== undefined) throw new ExtensionError(`Invalid input for ${tool}: ${problem}`);
    const over = new AbortController();
    const signal = AbortSignal.any([over.signal, ...(abortSignal ? [abortSignal] : [])]);
    const functions = this.#functions(extension, signal);
    const call = this.#entrypoint(extension.modules).call(tool, JSON.stringify(input ?? {}), functions);
    try {
      const answer = await this.#within(call, signal);
      const { error, value } = isObject(answer) ? answer : {};
      if (error !== undefined) throw new Error(String(error).slice(0, 10_000));
      return typeof value === "string" ? (JSON.parse(value) as unknown) : undefined;
    } finally {
      // Whatever goes on inside reaches nothing any more.
      over.abort();
      disposeCall(call);
    }
  }

  /** Rejects at the deadline, and when the caller stops it. */
  async #within(call: Promise<unknown>, signal: AbortSignal): Promise<unknown> {
    call.catch(() => undefined);
    const timeoutMs = this.#options.toolTimeout ?? DEFAULT_TOOL_TIMEOUT_MS;
    const { promise: stopped, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(
      () => reject(new ExtensionError(`The extension was timed out after ${timeoutMs} ms.`)),
      timeoutMs
    );
    const stop = () => reject(new ExtensionError("The call was stopped."));
    signal.addEventListener("abort", stop, { once: true });
    try {
      return await Promise.race([call, stopped]);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    }
  }

  // ── What an extension may reach ──

  #functions({ manifest }: Loaded, signal: AbortSignal): object {
    const { workspace, network } = manifest.permissions;
    const files = this.#options.workspace;
    const canRead = files !== undefined && workspace !== "none";
    const canWrite = canRead && workspace === "read-write";
    const names = canRead ? ["readFile", "listFiles", "writeFile", "deleteFile"] : [];
    let calls = 0;
    let requests = 0;
    const run = async (name: unknown, args: readonly unknown[]): Promise<unknown> => {
      if (signal.aborted) throw new Error("Extension error: the call is over.");
      calls += 1;
      if (calls > MAX_HOST_CALLS) throw new Error(`Extension error: at most ${MAX_HOST_CALLS} calls are answered.`);
      if (name === "fetch") {
        requests += 1;
        if (network.length === 0) throw new Error("Extension error: no network permission.");
        if (requests > MAX_REQUESTS) throw new Error(`Extension error: at most ${MAX_REQUESTS} requests are sent.`);
        return await gatedFetch(network, args, { fetch: this.#options.fetch ?? fetch, signal });
      }
      if (!canRead) throw new Error('Extension error: no permission workspace "read".');
      const isWrite = name === "writeFile" || name === "deleteFile";
      if (isWrite && !canWrite) throw new Error('Extension error: no permission workspace "read-write".');
      return await fileCall(files, name, args);
    };
    return {
      names,
      hasNetwork: network.length > 0,
      call: async (name: unknown, args: unknown) => {
        try {
          return { value: await run(name, Array.isArray(args) ? args : []) };
        } catch (error) {
          return { error: errorMessage(error) };
        }
      }
    };
  }
}

async function fileCall(files: ExtensionFiles, name: unknown, args: readonly unknown[]): Promise<unknown> {
  const [path, content] = args;
  if (typeof path !== "string") throw new TypeError("Extension error: a path is expected.");
  switch (name) {
    case "readFile":
      return await files.readFile(path);
    case "listFiles":
      return await files.readDir(path);
    case "writeFile":
      if (typeof content !== "string" || content.length > MAX_WRITTEN_CHARS)
        throw new TypeError(`Extension error: a text of at most ${MAX_WRITTEN_CHARS} characters is expected.`);
      await files.writeFile(path, content);
      return undefined;
    case "deleteFile": {
      const isThere = (await files.stat(path)) !== null;
      if (isThere) await files.rm(path);
      return isThere;
    }
    default:
      throw new Error("Extension error: there is no such function.");
  }
}

function describedTools(extension: string, described: unknown): ExtensionToolDescriptor[] {
  if (!Array.isArray(described) || described.length === 0) throw new ExtensionError(FORMAT);
  if (described.length > MAX_TOOLS) throw new ExtensionError(`An extension has at most ${MAX_TOOLS} tools.`);
  return described.map((one: unknown) => {
    const { name, description, schema, isRunnable } = isObject(one) ? one : {};
    if (typeof name !== "string" || !TOOL_NAME.test(name))
      throw new ExtensionError(`"${extension}" has a tool whose name cannot be used: letters, digits and underscores.`);
    if (isRunnable !== true) throw new ExtensionError(`The tool "${name}" of "${extension}" has no execute function.`);
    return {
      name,
      description: String(description).slice(0, 2_000),
      schema: isObject(schema) ? schema : { type: "object" }
    };
  });
}

function infoOf({ manifest, prefix, tools }: Loaded): ExtensionInfo {
  const { name, version, description, permissions } = manifest;
  return {
    name,
    version,
    ...(description !== undefined && { description }),
    tools: tools.map((tool) => `${prefix}_${tool.name}`),
    permissions,
    status: "loaded"
  };
}
