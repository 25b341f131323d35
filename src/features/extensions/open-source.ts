// A source to modules that can be loaded and to what it says of itself. A process remembers it by the source's text: an
// agent that wakes where its extensions were opened before starts no isolate for it.
import { sha256 } from "../../host/blobs.ts";
import type { IsolateLoader } from "../../sandbox/isolate.ts";
import { isObject } from "../../util/json.ts";
import { ExtensionError } from "./errors.ts";
import { answeredValue, openExtension, within } from "./isolate-call.ts";
import { EXTENSION_HOOKS, type CheckedManifest, type ExtensionHook } from "./manifest.ts";
import { extensionModules, FORMAT } from "./program.ts";

const DESCRIBE_TIMEOUT_MS = 10_000;
const MAX_TOOLS = 50;
const TOOL_NAME = /^[A-Za-z_][\w-]{0,63}$/;
/** Characters of sources that a process remembers; the oldest are forgotten. */
const MAX_REMEMBERED_CHARS = 4_000_000;

export interface ExtensionToolDescriptor {
  readonly name: string;
  readonly description: string;
  readonly schema: object;
}

type BlockMethod = "get" | "load" | "search" | "set";

export interface OpenedSource {
  readonly modules: Readonly<Record<string, string>>;
  readonly tools: readonly ExtensionToolDescriptor[];
  readonly hooks: readonly ExtensionHook[];
  /** What serves context blocks, by label. */
  readonly blocks: ReadonlyMap<string, ReadonlySet<BlockMethod>>;
}

const remembered = new Map<string, { readonly opened: OpenedSource; readonly chars: number }>();

/** Throws ExtensionError with line and column. */
export async function openSource(loader: IsolateLoader, name: string, source: string): Promise<OpenedSource> {
  const key = sha256(source);
  const known = remembered.get(key);
  if (known) return known.opened;
  const modules = await extensionModules(name, source);
  const opened = { modules, ...(await describe(loader, name, modules)) };
  remembered.set(key, { opened, chars: source.length });
  let chars = [...remembered.values()].reduce((sum, one) => sum + one.chars, 0);
  for (const [oldest, one] of remembered) {
    if (chars <= MAX_REMEMBERED_CHARS) break;
    remembered.delete(oldest);
    chars -= one.chars;
  }
  return opened;
}

/** The hooks that are called: those of the source, as far as the manifest wants them. Throws ExtensionError. */
export function subscribedHooks({ name, hooks }: CheckedManifest, source: OpenedSource): readonly ExtensionHook[] {
  const missing = hooks?.find((hook) => !source.hooks.includes(hook));
  if (missing !== undefined)
    throw new ExtensionError(`"${name}" declares the hook ${missing} and has no handler for it.`);
  const called = hooks ?? source.hooks;
  // One moment under two names: as in the class, the newer name is called.
  return called.includes("onStepEnd") ? called.filter((hook) => hook !== "onStepFinish") : called;
}

/** Throws ExtensionError if a block of the manifest has nothing that serves it. */
export function checkServedBlocks({ name, context }: CheckedManifest, { blocks }: OpenedSource): void {
  for (const { label, type } of context) {
    if (type === "readonly" || type === "writable") continue;
    const wanted: BlockMethod[] = ["get", type === "skill" ? "load" : "search"];
    const missing = wanted.find((method) => !blocks.get(label)?.has(method));
    if (missing !== undefined)
      throw new ExtensionError(`The source of "${name}" must have a function context.${label}.${missing}.`);
  }
}

async function describe(
  loader: IsolateLoader,
  name: string,
  modules: OpenedSource["modules"]
): Promise<Omit<OpenedSource, "modules">> {
  const described = await answerOf(loader, modules);
  if (!isObject(described)) throw new ExtensionError(FORMAT);
  const { tools, hooks, context } = described;
  const known: unknown[] = Array.isArray(hooks) ? hooks : [];
  const opened = {
    tools: describedTools(name, tools),
    hooks: EXTENSION_HOOKS.filter((hook) => known.includes(hook)),
    blocks: describedBlocks(context)
  };
  if (opened.tools.length === 0 && opened.hooks.length === 0) throw new ExtensionError(FORMAT);
  return opened;
}

async function answerOf(loader: IsolateLoader, modules: OpenedSource["modules"]): Promise<unknown> {
  try {
    return answeredValue(await within(openExtension(loader, modules).describe(), DESCRIBE_TIMEOUT_MS));
  } catch (error) {
    if (error instanceof ExtensionError) throw error;
    const message = error instanceof Error ? error.message : String(error);
    throw new ExtensionError(`The source threw while it was loaded: ${message.slice(0, 500)}`, error);
  }
}

function describedTools(extension: string, described: unknown): ExtensionToolDescriptor[] {
  const tools: unknown[] = Array.isArray(described) ? described : [];
  if (tools.length > MAX_TOOLS) throw new ExtensionError(`An extension has at most ${MAX_TOOLS} tools.`);
  return tools.map((one) => {
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

function describedBlocks(described: unknown): ReadonlyMap<string, ReadonlySet<BlockMethod>> {
  const blocks: unknown[] = Array.isArray(described) ? described : [];
  return new Map(
    blocks.map((one) => {
      const { label, methods } = isObject(one) ? one : {};
      // Compared with names of methods only.
      return [String(label), new Set<BlockMethod>(Array.isArray(methods) ? (methods as BlockMethod[]) : [])];
    })
  );
}
