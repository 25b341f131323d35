// Tools by which the model itself writes and loads extensions: within a ceiling that the developer sets, and after a human
// has seen the source if the developer wants that. The model unloads only what it loaded.
import { jsonSchema, tool, type Tool } from "ai";
import { schemaProblem } from "../../sandbox/json-schema.ts";
import { errorMessage } from "../../util/errors.ts";
import { ExtensionError } from "../errors.ts";
import type { ExtensionManager } from "../manager.ts";
import {
  beyondCeiling,
  checkManifest,
  sanitizeName,
  type ExtensionInfo,
  type ExtensionPermissions
} from "../manifest.ts";

/** Extensions that a model may have loaded at once. */
const MAX_MODEL_EXTENSIONS = 10;

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
  readonly ceiling?: ExtensionPermissions;
  /** True: a human approves each load and sees its source. A function decides by the request. */
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
 *   return { ...createExtensionTools({ manager: this.extensions, approval: true }), ...this.extensions.getTools() };
 * }
 */
export function createExtensionTools(options: ExtensionToolsOptions): ExtensionTools {
  const { manager, approval = false } = options;
  const loading = new Set<LoadExtensionInput>();
  return {
    load_extension: tool({
      description: DESCRIPTION,
      inputSchema: checked<LoadExtensionInput>(LOAD_SCHEMA),
      needsApproval: typeof approval === "function" ? (request: LoadExtensionInput) => approval(request) : approval,
      execute: (request) => load(options, request, loading)
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

async function load(
  { manager, ceiling = {} }: ExtensionToolsOptions,
  request: LoadExtensionInput,
  loading: Set<LoadExtensionInput>
): Promise<LoadExtensionOutput> {
  const { name, version, description, source, workspace_access: workspace = "none", network = [] } = request;
  try {
    const manifest = checkManifest({
      name,
      version,
      ...(description !== undefined && { description }),
      permissions: { workspace, network }
    });
    const most = { workspace: ceiling.workspace ?? "read", network: ceiling.network ?? [] };
    const beyond = beyondCeiling(manifest.permissions, most);
    if (beyond !== undefined) throw new ExtensionError(`An extension of yours may not have ${beyond}.`);
    const loaded = manager.list().filter((one) => isByModel(manager, one.name));
    // Calls of one step run side by side.
    if (loaded.length + loading.size >= MAX_MODEL_EXTENSIONS)
      throw new ExtensionError(`At most ${MAX_MODEL_EXTENSIONS} extensions are loaded; unload one first.`);
    loading.add(request);
    const { tools } = await manager.load({ ...manifest, origin: "model" }, source);
    const message = `Loaded. From the next turn on you can call ${tools.join(", ")}.`;
    return { loaded: true, name, prefix: sanitizeName(name), version, tools, message };
  } catch (error) {
    return { loaded: false, error: errorMessage(error) };
  } finally {
    loading.delete(request);
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
  "Writes and loads an extension: tools of your own, in a sandbox. They can be called from the next turn on, as <name>_<tool>.",
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
