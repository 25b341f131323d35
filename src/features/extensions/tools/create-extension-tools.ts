// Tools by which the model itself writes and loads extensions: within a ceiling that the developer sets, and after a human
// has seen what it may do if the developer wants that. The model replaces and unloads only what it loaded.
import { jsonSchema, tool, type Tool } from "ai";
import { ExtensionError } from "../errors.ts";
import type { ExtensionManager } from "../manager.ts";
import { checkManifest, sanitizeName, type CheckedManifest, type ExtensionInfo } from "../manifest.ts";
import { beyondCeiling, NO_PERMISSIONS, type ExtensionPermissions } from "../permissions.ts";
import { schemaProblem } from "../../../sandbox/json-schema.ts";
import { FIXED_INPUT } from "../../../feature/approval-contract.ts";
import { FEATURE } from "../../../feature/feature.ts";
import { errorMessage } from "../../../util/errors.ts";
import { openLoadApprovals, reviewOf, REVIEWS, type Reviews } from "./load-approval.ts";

/** Extensions that a model may have loaded at once. */
const MAX_MODEL_EXTENSIONS = 10;
/** Calls that are between the question whether to ask and their run. */
const MAX_REMEMBERED_CALLS = 1_000;

export interface LoadExtensionInput {
  name: string;
  version: string;
  description?: string;
  source: string;
  workspace_access?: "none" | "read" | "read-write";
  network?: string[];
}

export interface ExtensionToolsOptions {
  readonly manager: ExtensionManager;
  /** The most that a model may ask for; more is refused. Default: to read files, and no network. */
  readonly ceiling?: Pick<ExtensionPermissions, "workspace" | "network">;
  /** True: a human approves each load and sees its source and what it may do. A function decides by the request. */
  readonly approval?: boolean | ((request: LoadExtensionInput) => boolean | Promise<boolean>);
}

export type LoadExtensionOutput =
  | { loaded: true; name: string; prefix: string; version: string; tools: readonly string[]; message: string }
  | { loaded: false; error: string };

export interface ExtensionTools {
  readonly load_extension: Tool<LoadExtensionInput, LoadExtensionOutput>;
  readonly list_extensions: Tool<object, { count: number; extensions: ExtensionInfo[] }>;
  readonly unload_extension: Tool<{ name: string }, { unloaded: boolean; error?: string }>;
}

/**
 * `load_extension`, `list_extensions` and `unload_extension`.
 *
 * @example
 * getTools() {
 *   return this.extensionManager ? createExtensionTools({ manager: this.extensionManager, approval: true }) : {};
 * }
 */
export function createExtensionTools(options: ExtensionToolsOptions): ExtensionTools {
  const { manager } = options;
  const loader = new ExtensionLoads(options);
  const load = tool({
    description: DESCRIPTION,
    inputSchema: checked<LoadExtensionInput>(LOAD_SCHEMA),
    needsApproval: (request, { toolCallId }) => loader.needsApproval(request, toolCallId),
    execute: (request, { toolCallId }) => loader.load(request, toolCallId)
  });
  return {
    load_extension: Object.assign(load, {
      [FEATURE]: openLoadApprovals,
      [REVIEWS]: loader.reviews,
      [FIXED_INPUT]: true
    }),
    list_extensions: tool({
      description: "Lists the extensions that are loaded, with the names of their tools.",
      inputSchema: checked<object>({ type: "object", properties: {} }),
      execute: () => {
        const extensions = manager.list();
        return { count: extensions.length, extensions };
      }
    }),
    unload_extension: tool({
      description: "Unloads an extension that load_extension loaded.",
      inputSchema: checked<{ name: string }>({
        type: "object",
        properties: { name: { type: "string" } },
        required: ["name"]
      }),
      execute: async ({ name }): Promise<{ unloaded: boolean; error?: string }> => {
        if (!isByModel(manager, name)) return { unloaded: false, error: `"${name}" was not loaded by load_extension.` };
        return { unloaded: await manager.unload(name) };
      }
    })
  };
}

/** The loads of one set of tools. */
class ExtensionLoads {
  /** For the questions that are about to be asked, by call. */
  readonly reviews: Reviews = new Map();
  readonly #options: ExtensionToolsOptions;
  /** Why a call is not asked about and not run either. */
  readonly #refused = new Map<string, string>();
  readonly #loading = new Set<LoadExtensionInput>();

  constructor(options: ExtensionToolsOptions) {
    this.#options = options;
  }

  /** A request that cannot be loaded is not shown to a human: the call answers why. */
  async needsApproval(request: LoadExtensionInput, toolCallId: string): Promise<boolean> {
    const { manager, approval = false } = this.#options;
    const isAsked = typeof approval === "function" ? await approval(request) : approval;
    if (!isAsked) return false;
    try {
      const { manifest, info } = await this.#checked(request);
      const { source } = request;
      if (this.reviews.size >= MAX_REMEMBERED_CALLS) this.reviews.clear();
      this.reviews.set(toolCallId, reviewOf(manager, { manifest, source, info }));
      return true;
    } catch (error) {
      // Not remembered means not refused: then it is asked.
      if (this.#refused.size >= MAX_REMEMBERED_CALLS) return true;
      this.#refused.set(toolCallId, errorMessage(error));
      return false;
    }
  }

  async load(request: LoadExtensionInput, toolCallId: string): Promise<LoadExtensionOutput> {
    const { manager } = this.#options;
    const { name, version, source } = request;
    const refused = this.#refused.get(toolCallId);
    this.#refused.delete(toolCallId);
    // Not tried again: what was wrong may be right by now, and no human was asked.
    if (refused !== undefined) return { loaded: false, error: refused };
    try {
      this.#manifestOf(request);
      this.#loading.add(request);
      const { manifest } = await this.#checked(request);
      const isNewVersion = isByModel(manager, name);
      const { tools } = await (isNewVersion ? manager.replace(manifest, source) : manager.load(manifest, source));
      const message = `Loaded. From the next turn on you can call ${tools.join(", ")}.`;
      return { loaded: true, name, prefix: sanitizeName(name), version, tools, message };
    } catch (error) {
      return { loaded: false, error: errorMessage(error) };
    } finally {
      this.#loading.delete(request);
    }
  }

  /** Throws ExtensionError for what cannot be loaded. */
  async #checked(request: LoadExtensionInput): Promise<{ manifest: CheckedManifest; info: ExtensionInfo }> {
    const manifest = this.#manifestOf(request);
    const info = await this.#options.manager.check(manifest, request.source);
    if (info.tools.length === 0) throw new ExtensionError("An extension of yours must have tools.");
    return { manifest, info };
  }

  /** Throws ExtensionError for more than is allowed. */
  #manifestOf(request: LoadExtensionInput): CheckedManifest {
    const { manager, ceiling = {} } = this.#options;
    const { name, version, description, workspace_access: workspace = "none", network = [] } = request;
    const manifest = checkManifest({
      name,
      version,
      description,
      permissions: { workspace, network },
      // Its hooks would see everything that is said: none of them is called.
      hooks: [],
      origin: "model"
    });
    const most = { ...NO_PERMISSIONS, workspace: ceiling.workspace ?? "read", network: ceiling.network || [] };
    const beyond = beyondCeiling(manifest.permissions, most);
    if (beyond !== undefined) throw new ExtensionError(`An extension of yours may not have ${beyond}.`);
    if (manager.getManifest(name) && !isByModel(manager, name))
      throw new ExtensionError(`The extension "${name}" is already loaded, and not by you.`);
    const others = manager.list().filter((one) => one.name !== name && isByModel(manager, one.name));
    // Calls of one step run side by side.
    const loading = [...this.#loading].filter((one) => one.name !== name);
    if (others.length + loading.length >= MAX_MODEL_EXTENSIONS)
      throw new ExtensionError(`At most ${MAX_MODEL_EXTENSIONS} extensions are loaded; unload one first.`);
    return manifest;
  }
}

function isByModel(manager: ExtensionManager, name: string): boolean {
  return manager.getManifest(name)?.origin === "model";
}

function checked<Input>(schema: object) {
  return jsonSchema<Input>(schema, {
    validate: (value) => {
      const problem = schemaProblem(schema, value);
      // Checked against the schema that describes the type.
      return problem === undefined
        ? { success: true, value: value as Input }
        : { success: false, error: new TypeError(problem) };
    }
  });
}

const DESCRIPTION = [
  "Writes and loads an extension: tools of your own, in a sandbox. They can be called from the next turn on, as <name>_<tool>. With the name of one that you loaded it is replaced by the new version.",
  "The source is one JavaScript object: ({ tools: { greet: { description, parameters: { who: { type: 'string' } }, required: ['who'], execute: async (args, host) => … } } }).",
  "The name has lower-case letters, digits and underscores. host exists only inside the source and only with workspace_access: host.readFile(path), host.listFiles(dir), host.writeFile(path, text), host.deleteFile(path). fetch exists only with network, for the hosts it names."
].join("\n");

const LOAD_SCHEMA = {
  type: "object",
  properties: {
    name: { type: "string", minLength: 1, maxLength: 64 },
    version: { type: "string", minLength: 1 },
    description: { type: "string" },
    source: { type: "string", minLength: 1 },
    workspace_access: { type: "string", enum: ["none", "read", "read-write"] },
    network: { type: "array", items: { type: "string" }, description: "Hosts that fetch may reach" }
  },
  required: ["name", "version", "source"],
  additionalProperties: false
};
