// Reading what a server lists. An entry that cannot be used is left out with a warning; the others stay. Every list is
// bounded.
import { isObject } from "../../util/json.ts";
import type { McpPrompt, McpResource, McpResourceTemplate, McpSchema, McpTool, McpToolAnnotations } from "./catalog.ts";
import { cleanText } from "./errors.ts";
import { checkOutputSchema, checkToolSchema } from "./tool-schema.ts";

/** Entries of one list. What a server lists beyond is left out, with a warning. */
export const MAX_LIST_ITEMS = 1_000;
/** Pages of one list: a server whose cursors never end would be read for ever. */
export const MAX_LIST_PAGES = 100;
const MAX_NAME_CHARS = 256;
const MAX_TITLE_CHARS = 256;
const MAX_DESCRIPTION_CHARS = 8_192;
const MAX_URI_CHARS = 4_096;

/** Notified of every entry that is left out. */
export type Warn = (warning: string) => void;

export function readTools(listed: readonly unknown[], warn: Warn): McpTool[] {
  return readEntries(listed, { key: "name", warn }, (entry, name) => {
    const input = checkToolSchema(entry["inputSchema"]);
    if (!input.ok) {
      warn(`The tool "${cleanText(name)}" is left out: its input schema cannot be used, ${input.problem}.`);
      return undefined;
    }
    return {
      name,
      ...wording(entry),
      inputSchema: input.schema,
      ...outputSchemaOf(entry, name, warn),
      ...annotationsOf(entry)
    };
  });
}

export function readPrompts(listed: readonly unknown[], warn: Warn): McpPrompt[] {
  return readEntries(listed, { key: "name", warn }, (entry, name) => {
    const given = Array.isArray(entry["arguments"]) ? entry["arguments"].slice(0, MAX_LIST_ITEMS) : undefined;
    const args = given?.filter(isNamed).map(({ name: argument, description, required }) => ({
      name: argument,
      description: typeof description === "string" ? description.slice(0, MAX_DESCRIPTION_CHARS) : undefined,
      required: typeof required === "boolean" ? required : undefined
    }));
    return { name, ...wording(entry), arguments: args };
  });
}

export function readResources(listed: readonly unknown[], warn: Warn): McpResource[] {
  return readEntries(listed, { key: "uri", warn }, (entry, uri) => {
    const { size } = entry;
    return { uri, ...naming(entry, uri), size: typeof size === "number" ? size : undefined };
  });
}

export function readResourceTemplates(listed: readonly unknown[], warn: Warn): McpResourceTemplate[] {
  return readEntries(listed, { key: "uriTemplate", warn }, (entry, uriTemplate) => ({
    uriTemplate,
    ...naming(entry, uriTemplate)
  }));
}

type Entry = Record<string, unknown>;

/** Entries by their key, the first of each; those that are none, or that `read` refuses, are left out. */
function readEntries<T>(
  listed: readonly unknown[],
  options: { key: string; warn: Warn },
  read: (entry: Entry, key: string) => T | undefined
): T[] {
  const limit = options.key === "name" ? MAX_NAME_CHARS : MAX_URI_CHARS;
  const found = new Map<string, T>();
  for (const entry of listed) {
    const key = isObject(entry) ? entry[options.key] : undefined;
    if (!isObject(entry) || typeof key !== "string" || key === "" || key.length > limit) {
      options.warn(`An entry is left out: its ${options.key} is not a text of 1 to ${limit} characters.`);
    } else if (found.has(key)) {
      options.warn(`"${cleanText(key)}" is listed twice; the first entry counts.`);
    } else if (found.size >= MAX_LIST_ITEMS) {
      options.warn(`The server lists more than ${MAX_LIST_ITEMS} entries; the others are left out.`);
      break;
    } else {
      const value = read(entry, key);
      if (value !== undefined) found.set(key, value);
    }
  }
  return [...found.values()];
}

function wording(entry: Entry): { title?: string; description?: string } {
  const { title, description } = entry;
  return {
    title: typeof title === "string" ? title.slice(0, MAX_TITLE_CHARS) : undefined,
    description: typeof description === "string" ? description.slice(0, MAX_DESCRIPTION_CHARS) : undefined
  };
}

function naming(entry: Entry, key: string): { name: string; title?: string; description?: string; mimeType?: string } {
  const { name, mimeType } = entry;
  return {
    name: (typeof name === "string" ? name : key).slice(0, MAX_NAME_CHARS),
    ...wording(entry),
    mimeType: typeof mimeType === "string" ? mimeType.slice(0, MAX_NAME_CHARS) : undefined
  };
}

/** A tool is still of use without the shape of its results. */
function outputSchemaOf(entry: Entry, name: string, warn: Warn): { outputSchema?: McpSchema } {
  if (entry["outputSchema"] === undefined) return {};
  const output = checkOutputSchema(entry["outputSchema"]);
  if (output.ok) return { outputSchema: output.schema };
  warn(`The output schema of the tool "${cleanText(name)}" is ignored: ${output.problem}.`);
  return {};
}

const HINTS = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] as const;

function annotationsOf(entry: Entry): { annotations?: McpToolAnnotations } {
  const given = entry["annotations"];
  if (!isObject(given)) return {};
  const hints = HINTS.filter((hint) => typeof given[hint] === "boolean").map((hint) => [hint, given[hint]] as const);
  const { title } = given;
  const named = typeof title === "string" ? { title: title.slice(0, MAX_TITLE_CHARS) } : {};
  return { annotations: { ...named, ...Object.fromEntries(hints) } };
}

function isNamed(value: unknown): value is Entry & { name: string } {
  return isObject(value) && typeof value["name"] === "string" && value["name"].length <= MAX_NAME_CHARS;
}
