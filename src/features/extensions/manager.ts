// Extensions: tools and hooks that are loaded at run time, each in an isolate of its own. What one may reach is decided at
// each of its calls; what it says about itself is not trusted. Loading, replacing and unloading are one write each.
import { dynamicTool, jsonSchema, type ToolSet } from "ai";
import type { EventPayloads } from "../../observe/events.ts";
import type { IsolateLoader } from "../../sandbox/isolate.ts";
import { schemaProblem } from "../../sandbox/json-schema.ts";
import { TOOL_GROUP } from "../../feature/tool-discovery.ts";
import { errorMessage } from "../../util/errors.ts";
import { isObject } from "../../util/json.ts";
import { ExtensionError } from "./errors.ts";
import { HookDispatch } from "./hook-dispatch.ts";
import { blocksOf } from "./context-blocks.ts";
import type { ExtensionConversation, ExtensionFiles, HostBridgeInit } from "./host-bridge.ts";
import { callIsolate, openExtension } from "./isolate-call.ts";
import {
  checkManifest,
  contextLabelsOf,
  sanitizeName,
  type CheckedManifest,
  type ExtensionHook,
  type ExtensionInfo,
  type ExtensionManifest
} from "./manifest.ts";
import {
  checkServedBlocks,
  openSource,
  subscribedHooks,
  type ExtensionToolDescriptor,
  type OpenedSource
} from "./open-source.ts";
import { NO_PERMISSIONS } from "./permissions.ts";
import { OneByOne } from "../../util/one-by-one.ts";

const STORED_PREFIX = "ext:";
const DEFAULT_TOOL_TIMEOUT_MS = 30_000;
export const DEFAULT_HOOK_TIMEOUT_MS = 5_000;

/** Where extensions are kept; `ctx.storage` of a Durable Object is one. */
export interface ExtensionStorage {
  put(key: string, value: unknown): Promise<unknown>;
  delete(key: string): Promise<unknown>;
  list(options: { prefix: string }): Promise<Map<string, unknown>>;
}

/** What a manager reports; see `EventPayloads`. */
export type ExtensionEvent = Extract<keyof EventPayloads, `extension:${string}`>;

export interface ExtensionManagerOptions {
  /** The `worker_loaders` binding. */
  readonly loader: IsolateLoader;
  /** Without it extensions are gone with the process. */
  readonly storage?: ExtensionStorage;
  /** For extensions with the permission `workspace`. */
  readonly workspace?: ExtensionFiles;
  /** For extensions with context blocks, and those that may read or write the conversation. */
  readonly conversation?: ExtensionConversation;
  /** Milliseconds of one call of a tool; 30,000 by default. */
  readonly toolTimeout?: number;
  /** Milliseconds of one call of a hook; 5,000 by default. */
  readonly hookTimeout?: () => number;
  /** For extensions with the permission `network`. */
  readonly fetch?: typeof fetch;
  /** Names that tools of extensions may not take, such as those of the agent's own tools. */
  readonly reservedNames?: readonly string[] | (() => readonly string[]);
  readonly emit?: <Type extends ExtensionEvent>(type: Type, payload: EventPayloads[Type]) => void;
  /** Work that no caller waits for. */
  readonly background?: (work: Promise<unknown>) => void;
}

/** An extension as a class or an application writes it down. */
export interface ExtensionConfig {
  readonly manifest: ExtensionManifest;
  readonly source: string;
}

interface Loaded {
  readonly manifest: CheckedManifest;
  readonly source: string;
  readonly prefix: string;
  readonly modules: OpenedSource["modules"];
  readonly tools: readonly ExtensionToolDescriptor[];
  readonly hooks: readonly ExtensionHook[];
  readonly blocks: OpenedSource["blocks"];
  /** Goes up with each load, and is kept over restarts. */
  readonly order: number;
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
  readonly #bridge: HostBridgeInit;
  readonly #loaded = new Map<string, Loaded>();
  readonly #failed = new Map<string, ExtensionInfo>();
  readonly #unloadListeners: ((contextLabels: readonly string[]) => void)[] = [];
  /** For the runtime of a class: calls the hooks of what is loaded. */
  readonly hooks: HookDispatch;
  #restored: Promise<void> | undefined;
  /** Changes come one after another. */
  readonly #work = new OneByOne();

  constructor(options: ExtensionManagerOptions) {
    this.#options = options;
    const { workspace, conversation, loader, fetch, emit } = options;
    this.#bridge = { workspace, conversation, fetch, emit: emit && ((event) => emit("extension:host", event)) };
    this.hooks = new HookDispatch({
      loader,
      bridge: this.#bridge,
      subscribers: (hook) => this.#subscribers(hook),
      timeoutMs: () => this.#hookTimeoutMs(),
      failed: (name, hook, error) => {
        console.warn(`The hook ${hook} of the extension "${name}" failed, and the turn goes on without it: ${error}`);
        emit?.("extension:failed", { name, hook, error });
      },
      background: options.background ?? ((work) => void work.catch(() => undefined))
    });
  }

  /** Throws ExtensionError; then nothing is loaded or stored. */
  async load(manifest: ExtensionManifest, source: string): Promise<ExtensionInfo> {
    const opened = await this.#opened({ manifest, source });
    return this.#work.run(async () => {
      this.#refuseClash(opened);
      await this.#join(opened);
      return infoOf(opened);
    });
  }

  /** Another version in the place of the one that is loaded. Throws ExtensionError; then the old one stays. */
  async replace(manifest: ExtensionManifest, source: string): Promise<ExtensionInfo> {
    const opened = await this.#opened({ manifest, source });
    const { name } = opened.manifest;
    return this.#work.run(async () => {
      const old = this.#loaded.get(name);
      if (!old) throw new ExtensionError(`The extension "${name}" is not loaded.`);
      this.#refuseClash(opened, old);
      await this.#removeBlocks(old, false);
      try {
        await this.#join({ ...opened, order: old.order });
      } catch (error) {
        this.#loaded.set(name, old);
        await this.#addBlocks(old);
        throw error;
      }
      return infoOf(opened);
    });
  }

  /** False if there is none of that name. Its tools fail from now on, and its context blocks are deleted. */
  unload(name: string): Promise<boolean> {
    return this.#work.run(async () => {
      const extension = this.#loaded.get(name);
      if (!extension && !this.#failed.has(name)) return false;
      // The row last: killed before it, the extension is there again, and can be unloaded again.
      if (extension) await this.#removeBlocks(extension, true);
      await this.#options.storage?.delete(STORED_PREFIX + name);
      this.#loaded.delete(name);
      this.#failed.delete(name);
      this.#options.emit?.("extension:unloaded", { name });
      const labels = extension ? contextLabelsOf(extension.manifest) : [];
      for (const listener of this.#unloadListeners) listener(labels);
      return true;
    });
  }

  /** Called with the context labels of each extension that is unloaded. */
  onUnload(listener: (contextLabels: readonly string[]) => void): void {
    this.#unloadListeners.push(listener);
  }

  /** Loads what the class declares, in its order, and stores nothing. One that cannot be loaded is listed as failed. */
  async loadStatic(configs: readonly ExtensionConfig[]): Promise<void> {
    await this.#openAll(configs.map((config) => ({ name: nameOf(config), config: () => config })));
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

  /** Full labels of all context blocks. */
  getContextLabels(): string[] {
    return [...this.#loaded.values()].flatMap(({ manifest }) => contextLabelsOf(manifest));
  }

  /** Names of the extensions that a hook is sent to, in order. */
  getHookSubscribers(hook: ExtensionHook): string[] {
    return this.#subscribers(hook).map(({ manifest }) => manifest.name);
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

  /** Checks a manifest and a source as `load` and `replace` do, and loads nothing. */
  async check(manifest: ExtensionManifest, source: string): Promise<ExtensionInfo> {
    const opened = await this.#opened({ manifest, source });
    this.#refuseClash(opened, this.#loaded.get(opened.manifest.name));
    return infoOf(opened);
  }

  // ── Loading ──

  async #restore(): Promise<void> {
    const stored = (await this.#options.storage?.list({ prefix: STORED_PREFIX })) ?? new Map<string, unknown>();
    const entries = [...stored].map(([key, value]) => ({
      name: key.slice(STORED_PREFIX.length),
      order: isObject(value) && typeof value["order"] === "number" ? value["order"] : 0,
      config: (): ExtensionConfig => {
        const { manifest, source } = isObject(value) ? value : {};
        if (typeof source !== "string") throw new ExtensionError("What is stored of it cannot be read.");
        return { manifest: checkManifest(manifest), source };
      }
    }));
    // One of the class's own has its name, also if it could not be loaded.
    const others = entries.filter(({ name }) => !this.#loaded.has(name) && !this.#failed.has(name));
    await this.#openAll(others.toSorted((a, b) => a.order - b.order));
  }

  /** Opened side by side, and loaded in order. */
  async #openAll(entries: readonly { name: string; config: () => ExtensionConfig; order?: number }[]): Promise<void> {
    const opened = entries.map(async ({ config, order = 0 }) => ({ ...(await this.#opened(config())), order }));
    const results = await Promise.allSettled(opened);
    await this.#work.run(async () => {
      for (const [index, result] of results.entries()) {
        const name = entries[index]?.name ?? "";
        try {
          if (result.status === "rejected") throw result.reason;
          this.#refuseClash(result.value);
          await this.#addBlocks(result.value);
          this.#loaded.set(name, result.value);
        } catch (error) {
          this.#fail(name, error);
        }
      }
    });
  }

  #fail(name: string, error: unknown): void {
    console.error(`The extension "${name}" could not be loaded:`, error);
    const message = errorMessage(error);
    this.#options.emit?.("extension:failed", { name, error: message });
    if (this.#loaded.has(name)) return;
    this.#failed.set(name, {
      name,
      version: "",
      tools: [],
      contextLabels: [],
      hooks: [],
      permissions: NO_PERMISSIONS,
      status: "failed",
      error: message
    });
  }

  /** Checked and described, and not loaded yet. */
  async #opened({ manifest: given, source }: ExtensionConfig): Promise<Loaded> {
    const manifest = checkManifest(given);
    const prefix = sanitizeName(manifest.name);
    const opened = await openSource(this.#options.loader, manifest.name, source);
    const { modules, tools, blocks } = opened;
    const { reservedNames = [] } = this.#options;
    const reserved = typeof reservedNames === "function" ? reservedNames() : reservedNames;
    const taken = tools.find((tool) => reserved.includes(`${prefix}_${tool.name}`));
    if (taken) throw new ExtensionError(`The agent has a tool "${prefix}_${taken.name}" already.`);
    checkServedBlocks(manifest, opened);
    const hooks = subscribedHooks(manifest, opened);
    return { manifest, source, prefix, modules, tools, hooks, blocks, order: this.#nextOrder() };
  }

  #nextOrder(): number {
    return Math.max(0, ...[...this.#loaded.values()].map(({ order }) => order)) + 1;
  }

  /** Blocks and row, or neither. */
  async #join(extension: Loaded): Promise<void> {
    const { manifest, source, order } = extension;
    const { name } = manifest;
    await this.#addBlocks(extension);
    this.#loaded.set(name, extension);
    try {
      await this.#options.storage?.put(STORED_PREFIX + name, { manifest, source, order });
    } catch (error) {
      this.#loaded.delete(name);
      await this.#removeBlocks(extension, false);
      throw new ExtensionError(`The extension "${name}" could not be stored.`, error);
    }
    this.#failed.delete(name);
    this.#options.emit?.("extension:loaded", { name, version: manifest.version });
  }

  #refuseClash({ manifest: { name }, prefix }: Loaded, replaced?: Loaded): void {
    const others = [...this.#loaded.values()].filter((one) => one !== replaced);
    if (others.some((one) => one.manifest.name === name))
      throw new ExtensionError(`The extension "${name}" is already loaded.`);
    const other = others.find((one) => one.prefix === prefix);
    if (other) throw new ExtensionError(`"${name}" would have the same tool names as "${other.manifest.name}".`);
  }

  // ── Calls ──

  #hookTimeoutMs(): number {
    return this.#options.hookTimeout?.() ?? DEFAULT_HOOK_TIMEOUT_MS;
  }

  #subscribers(hook: ExtensionHook): Loaded[] {
    return [...this.#loaded.values()].filter(({ hooks }) => hooks.includes(hook));
  }

  #tool(extension: Loaded, { name, description, schema }: ExtensionToolDescriptor) {
    const made = dynamicTool({
      description: `[${extension.manifest.name}] ${description}`,
      inputSchema: jsonSchema(schema, {
        validate: (value) => {
          const problem = schemaProblem(schema, value);
          return problem === undefined
            ? { success: true, value }
            : { success: false, error: new TypeError(`Invalid input for ${name}: ${problem}`) };
        }
      }),
      execute: async (input, { abortSignal: signal }) => {
        const { manifest, modules } = extension;
        if (this.#loaded.get(manifest.name) !== extension)
          throw new ExtensionError(`The extension "${manifest.name}" has been unloaded.`);
        const problem = schemaProblem(schema, input);
        if (problem !== undefined) throw new ExtensionError(`Invalid input for ${name}: ${problem}`);
        const { loader, toolTimeout: timeoutMs = DEFAULT_TOOL_TIMEOUT_MS } = this.#options;
        // An isolate that has only this call.
        const isolate = openExtension(loader, modules);
        return callIsolate({ manifest, bridge: this.#bridge, timeoutMs, signal }, (functions) =>
          isolate.call(name, JSON.stringify(input ?? {}), functions)
        );
      }
    });
    return Object.assign(made, { [TOOL_GROUP]: extension.manifest.name });
  }

  // ── Context blocks ──

  async #addBlocks(extension: Loaded): Promise<void> {
    const { context, name } = extension.manifest;
    if (context.length === 0) return;
    const { conversation } = this.#options;
    if (!conversation) throw new ExtensionError(`"${name}" has context blocks, and there is no conversation for them.`);
    const { loader } = this.#options;
    const timeoutMs = () => this.#hookTimeoutMs();
    await conversation.addBlocks(blocksOf(extension, { loader, bridge: this.#bridge, timeoutMs }));
  }

  async #removeBlocks({ manifest }: Loaded, isForGood: boolean): Promise<void> {
    if (manifest.context.length > 0)
      await this.#options.conversation?.removeBlocks(contextLabelsOf(manifest), isForGood);
  }
}

function nameOf({ manifest }: ExtensionConfig): string {
  const { name } = isObject(manifest) ? manifest : {};
  return typeof name === "string" ? name : "";
}

function infoOf({ manifest, prefix, tools, hooks }: Loaded): ExtensionInfo {
  const { name, version, description, permissions } = manifest;
  return {
    name,
    version,
    ...(description !== undefined && { description }),
    tools: tools.map((tool) => `${prefix}_${tool.name}`),
    contextLabels: contextLabelsOf(manifest),
    hooks,
    permissions,
    status: "loaded"
  };
}
