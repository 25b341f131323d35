// The tools by which a model works with its context blocks, as plain descriptions with a JSON schema: turning them into
// tools of an SDK is left to others. A tool exists only if some block is of its kind. Nothing here throws: a failure is
// a result that the model reads.
import { errorMessage } from "../../util/errors.ts";
import { isObject } from "../../util/json.ts";
import type { BlockSet } from "./block-set.ts";
import { notFound, notLoaded } from "./document-calls.ts";
import { blockErrors } from "./errors.ts";
import type { HeldBlock } from "./held-block.ts";
import type { LoadedDocuments } from "./loaded-documents.ts";
import { usagePercent } from "./render.ts";

export type ContextToolName = "set_context" | "load_context" | "unload_context" | "search_context";

export interface ContextTool {
  readonly description: string;
  /** A JSON schema. */
  readonly inputSchema: Record<string, unknown>;
  execute(input: unknown): Promise<string>;
}

export type ContextTools = Partial<Record<ContextToolName, ContextTool>>;

const isKeyed = ({ kind }: HeldBlock) => kind.isSkill || kind.isSearchable;

export async function contextTools(blocks: BlockSet, documents: LoadedDocuments): Promise<ContextTools> {
  const writable = blocks.all.filter(({ kind }) => kind.writable);
  const loadable = blocks.all.filter(({ kind }) => kind.isSkill);
  const searchable = blocks.all.filter(({ kind }) => kind.isSearchable);
  return {
    ...(writable.length > 0 && { set_context: setTool(blocks, writable) }),
    ...(loadable.length > 0 && {
      load_context: loadTool(documents, loadable),
      unload_context: unloadTool(documents, loadable, await documents.ids())
    }),
    ...(searchable.length > 0 && { search_context: searchTool(searchable) })
  };
}

function setTool(blocks: BlockSet, writable: readonly HeldBlock[]): ContextTool {
  const lines = writable.map((held) => `- "${held.label}" (${kindName(held)})${colon(held.config.description)}`);
  const metadata = {
    type: "object",
    description: "For blocks with keyed entries. The same title is the same entry.",
    properties: { title: { type: "string" }, description: { type: "string" } },
    additionalProperties: false
  };
  return {
    description: `Write to a context block, to keep what should be known later. The blocks:\n${lines.join("\n")}`,
    inputSchema: schema(
      {
        label: labels(writable),
        content: { type: "string", description: "The text to write." },
        action: {
          type: "string",
          enum: ["replace", "append"],
          description: "Replace the block's text (default) or append to it. Keyed entries are always written whole."
        },
        ...(writable.some(isKeyed) && { metadata })
      },
      ["label", "content"]
    ),
    execute: (input) =>
      answering(async () => {
        const label = textOf(input, "label");
        const held = blocks.find(label);
        if (held === undefined) throw blockErrors.UnknownBlockError(label);
        if (!held.kind.writable) throw blockErrors.ReadonlyBlockError(label);
        const content = textOf(input, "content");
        if (isKeyed(held)) return writeEntry(held, content, input);
        const isAppend = isObject(input) && input["action"] === "append";
        const block = isAppend ? await blocks.append(held.label, content) : await blocks.replace(held.label, content);
        const { tokens, maxTokens } = block;
        const usage =
          maxTokens === undefined
            ? `${tokens} tokens`
            : `${usagePercent(tokens, maxTokens)} (${tokens}/${maxTokens} tokens)`;
        return `Written to ${held.label}. Usage: ${usage}`;
      })
  };
}

async function writeEntry(held: HeldBlock, content: string, input: unknown): Promise<string> {
  const metadata = isObject(input) && isObject(input["metadata"]) ? input["metadata"] : {};
  const { title, description } = metadata;
  const named = typeof title === "string" && title.trim() !== "" ? title : undefined;
  const about = typeof description === "string" && description.trim() !== "" ? description : named;
  const key = entryKey(content, named);
  await held.writeEntry({ key, content, description: about });
  return `Indexed "${key}" in ${held.label}.`;
}

function loadTool(documents: LoadedDocuments, loadable: readonly HeldBlock[]): ContextTool {
  return {
    description: `Load a document of a context block into the conversation. The blocks, whose documents the system prompt lists:\n${list(loadable)}`,
    inputSchema: documentSchema(loadable, "The document's key, as it is listed."),
    execute: (input) =>
      answering(async () => {
        const held = pick(loadable, input);
        const document = { label: held.label, key: textOf(input, "key") };
        try {
          const text = await held.loadDocument(document.key);
          if (text === null) return notFound(document.key);
          await documents.note(document);
          return text;
        } catch (error) {
          return `${notLoaded(document)}: ${errorMessage(error)}`;
        }
      })
  };
}

function unloadTool(
  documents: LoadedDocuments,
  loadable: readonly HeldBlock[],
  loaded: ReadonlySet<string>
): ContextTool {
  const ids = loaded.size === 0 ? "none" : [...loaded].join(", ");
  return {
    description: `Take a loaded document out of the conversation, to make room. It can be loaded again. Blocks:\n${list(loadable)}\nLoaded now: ${ids}.`,
    inputSchema: documentSchema(loadable, "The key of a loaded document."),
    execute: (input) =>
      answering(async () => {
        const { label } = pick(loadable, input);
        const key = textOf(input, "key");
        const isUnloaded = await documents.unload({ label, key });
        return isUnloaded ? `Unloaded "${key}" from ${label}.` : `"${key}" is not currently loaded from ${label}.`;
      })
  };
}

function searchTool(searchable: readonly HeldBlock[]): ContextTool {
  return {
    description: `Search the entries of a context block. The blocks:\n${list(searchable)}`,
    inputSchema: schema({ label: labels(searchable), query: { type: "string", description: "Words to look for." } }, [
      "label",
      "query"
    ]),
    execute: (input) =>
      answering(async () => (await pick(searchable, input).search(textOf(input, "query"))) ?? "No results found.")
  };
}

async function answering(work: () => Promise<string>): Promise<string> {
  try {
    return await work();
  } catch (error) {
    return `Error: ${errorMessage(error)}`;
  }
}

/** The block an input names. Throws for a label that is not among those offered. */
function pick(offered: readonly HeldBlock[], input: unknown): HeldBlock {
  const label = textOf(input, "label");
  const held = offered.find((block) => block.label === label);
  if (held === undefined) throw blockErrors.UnknownBlockError(label);
  return held;
}

function textOf(input: unknown, field: string): string {
  const value = isObject(input) ? input[field] : undefined;
  if (typeof value !== "string") throw new TypeError(`"${field}" must be a text.`);
  return value;
}

function documentSchema(loadable: readonly HeldBlock[], keyDescription: string): Record<string, unknown> {
  return schema({ label: labels(loadable), key: { type: "string", description: keyDescription } }, ["label", "key"]);
}

function schema(properties: Record<string, unknown>, required: readonly string[]): Record<string, unknown> {
  return { type: "object", properties, required, additionalProperties: false };
}

function labels(offered: readonly HeldBlock[]): Record<string, unknown> {
  return { type: "string", enum: offered.map(({ label }) => label), description: "The block's label." };
}

function list(offered: readonly HeldBlock[]): string {
  return offered.map(({ label, config }) => `- "${label}"${colon(config.description)}`).join("\n");
}

function colon(description: string | undefined): string {
  return description === undefined || description === "" ? "" : `: ${description}`;
}

function kindName({ kind }: HeldBlock): string {
  if (kind.isSkill) return "skill collection, keyed entries";
  return kind.isSearchable ? "searchable, keyed entries" : "writable";
}

const SLUG_CHARS = 60;

/**
 * Under which key a model's entry is kept in a collection. The same title is the same entry; texts without a title never
 * share one by accident, however alike they begin and whatever alphabet they use. Pure.
 */
export function entryKey(content: string, title?: string): string {
  if (title !== undefined && title.trim() !== "") return slug(title) || `entry-${hash(title)}`;
  return `${slug(content) || "entry"}-${hash(content)}`;
}

function slug(text: string): string {
  return text
    .slice(0, SLUG_CHARS)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
}

/** FNV-1a over UTF-16 units, 32 bits. */
function hash(text: string): string {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  }
  return (value >>> 0).toString(36);
}
