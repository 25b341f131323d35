// Files as `state.*`. Reads are run again in every pass, so that code after a pause sees the files as they are; writes are
// recorded and happen once.
import type { WorkspaceFsLike } from "../workspace/workspace-like.ts";
import { typesOfConnector } from "./catalog.ts";
import type { Connector, ConnectorTool } from "./connector.ts";
import { treeMethods } from "./state-tree.ts";
import { applyEditPlan, planEdits, textDiff, type EditPlan, type FileEdit } from "./state-edits.ts";

/** Files that a search looks into. */
const MAX_SEARCHED_FILES = 500;
const MAX_MATCHES = 200;
const MAX_LINE_CHARS = 300;

type Args = Readonly<Record<string, unknown>>;

const REQUIRED_METHODS = [
  "readFile",
  "readFileBytes",
  "writeFile",
  "writeFileBytes",
  "appendFile",
  "exists",
  "stat",
  "lstat",
  "mkdir",
  "readDir",
  "rm",
  "cp",
  "mv",
  "symlink",
  "readlink",
  "glob"
] as const;

/** Whether a workspace has what `state.*` needs. */
export function isFileSystem(value: unknown): value is WorkspaceFsLike {
  return (
    typeof value === "object" &&
    value !== null &&
    REQUIRED_METHODS.every((method) => typeof Reflect.get(value, method) === "function")
  );
}

export class StateConnector implements Connector {
  readonly #files: WorkspaceFsLike;

  constructor(files: WorkspaceFsLike) {
    this.#files = files;
  }

  name(): string {
    return "state";
  }

  instructions(): string {
    return 'state.*: the files of the workspace, e.g. await state.readFile({ path: "/notes.md" }).';
  }

  /** As the model is shown them. */
  getTypeScriptTypes(): Promise<string> {
    return typesOfConnector(this);
  }

  tools(): Record<string, ConnectorTool> {
    const files = this.#files;
    return {
      readFile: read("Text of a file; null if there is none.", ["path"], ({ path }) => files.readFile(path)),
      readFileBytes: read("Bytes of a file; null if there is none.", ["path"], ({ path }) => files.readFileBytes(path)),
      exists: read("Whether there is a file or directory.", ["path"], ({ path }) => files.exists(path)),
      stat: read("Type, size and times; null if there is nothing.", ["path"], ({ path }) => files.stat(path)),
      lstat: read("The same of a link itself.", ["path"], ({ path }) => files.lstat(path)),
      readlink: read("Where a link leads.", ["path"], ({ path }) => files.readlink(path)),
      readdir: read("Entries of a directory.", ["path"], ({ path }) => files.readDir(path)),
      glob: read("Files and directories that match a pattern.", ["pattern"], ({ pattern }) => files.glob(pattern)),
      readJson: read("A JSON file, parsed; null if there is none.", ["path"], async ({ path }) => {
        const text = await files.readFile(path);
        return text === null ? null : (JSON.parse(text) as unknown);
      }),
      searchFiles: read("Lines that contain a text, in the files of a pattern.", ["pattern", "query"], (args) =>
        searchFiles(files, args)
      ),
      diff: read("How a file differs from another, as unified diff.", ["path", "otherPath"], (args) =>
        diffFiles(files, args)
      ),
      diffContent: read("How a file differs from a text.", ["path", "content"], async ({ path, content }) =>
        textDiff((await files.readFile(path)) ?? "", content, { before: path, after: path })
      ),
      writeFile: write("Writes a text file.", ["path", "content"], ({ path, content }) =>
        files.writeFile(path, content)
      ),
      writeFileBytes: write("Writes bytes to a file.", ["path", "bytes"], ({ path, bytes }) =>
        files.writeFileBytes(path, bytesArgument(bytes))
      ),
      appendFile: once("Appends text to a file.", ["path", "content"], ({ path, content }) =>
        files.appendFile(path, content)
      ),
      writeJson: write("Writes a value as JSON.", ["path", "value"], ({ path, value }) =>
        files.writeFile(path, `${JSON.stringify(value, null, 2)}\n`)
      ),
      replaceInFiles: once("Replaces a text in the files of a pattern; answers how often, by path.", REPLACE, (args) =>
        replaceInFiles(files, args)
      ),
      mkdir: write("Makes a directory and those above it.", ["path"], ({ path }) =>
        files.mkdir(path, { recursive: true })
      ),
      rm: write("Deletes a file or a directory with everything in it.", ["path"], ({ path }) =>
        files.rm(path, { recursive: true, force: true })
      ),
      cp: write("Copies a file or directory.", ["src", "dest"], ({ src, dest }) =>
        files.cp(src, dest, { recursive: true })
      ),
      mv: once("Moves a file or directory.", ["src", "dest"], ({ src, dest }) => files.mv(src, dest)),
      symlink: once("Makes a link.", ["target", "path"], ({ target, path }) => files.symlink(target, path)),
      ...treeMethods(files),
      ...editMethods(files)
    };
  }
}

/** Several files at once: planned and looked at, then applied whole or not at all. */
function editMethods(files: WorkspaceFsLike): Record<string, ConnectorTool> {
  const edits = (args: unknown) => (args as { edits: FileEdit[] }).edits;
  const options = (args: unknown) => ({ dryRun: (args as { dryRun?: boolean }).dryRun === true });
  return {
    planEdits: {
      description:
        "What edits would change, with a diff of each file. Nothing is written; apply it with applyEditPlan.",
      inputSchema: { type: "object", properties: { edits: EDITS }, required: ["edits"] },
      onUnknownOutcome: "retry",
      execute: (args) => planEdits(files, edits(args))
    },
    applyEditPlan: {
      description: "Writes what planEdits planned, all or nothing; fails if a file has changed since.",
      inputSchema: { type: "object", properties: { plan: PLAN, dryRun: { type: "boolean" } }, required: ["plan"] },
      onUnknownOutcome: "retry",
      execute: (args) => applyEditPlan(files, (args as { plan: EditPlan }).plan, options(args))
    },
    applyEdits: {
      description: "Plans and applies edits, all or nothing.",
      inputSchema: { type: "object", properties: { edits: EDITS, dryRun: { type: "boolean" } }, required: ["edits"] },
      onUnknownOutcome: "fail",
      execute: async (args) => applyEditPlan(files, await planEdits(files, edits(args)), options(args))
    }
  };
}

const TEXT = { type: "string" };
/** A whole text, a value as JSON, or a text in place of another. */
const EDITS = {
  type: "array",
  items: {
    anyOf: [
      {
        type: "object",
        properties: { path: TEXT, search: TEXT, replacement: TEXT },
        required: ["path", "search", "replacement"]
      },
      { type: "object", properties: { path: TEXT, content: TEXT }, required: ["path", "content"] },
      { type: "object", properties: { path: TEXT, value: {} }, required: ["path", "value"] }
    ]
  }
};
const PLAN = {
  type: "object",
  properties: {
    edits: {
      type: "array",
      items: {
        type: "object",
        properties: {
          path: TEXT,
          changed: { type: "boolean" },
          content: TEXT,
          diff: TEXT,
          base: { type: ["string", "null"] }
        },
        required: ["path", "changed", "content", "diff", "base"]
      }
    },
    totalChanged: { type: "number" }
  },
  required: ["edits", "totalChanged"]
};

const REPLACE = ["pattern", "search", "replacement"] as const;

function read<Name extends string>(
  description: string,
  names: readonly Name[],
  run: (args: Record<Name, string>) => unknown
): ConnectorTool {
  return { ...method(description, names, run), replay: "reexecute" };
}

/** A change that leaves the same when it is made twice. */
function write<Name extends string>(
  description: string,
  names: readonly Name[],
  run: (args: Record<Name, string>) => unknown
): ConnectorTool {
  return { ...method(description, names, run), onUnknownOutcome: "retry" };
}

/** A change that has another effect when it is made twice: the code gets an error that says it may have been made. */
function once<Name extends string>(
  description: string,
  names: readonly Name[],
  run: (args: Record<Name, string>) => unknown
): ConnectorTool {
  return { ...method(description, names, run), onUnknownOutcome: "fail" };
}

function method<Name extends string>(
  description: string,
  names: readonly Name[],
  run: (args: Record<Name, string>) => unknown
): ConnectorTool {
  const isAny = (name: string) => name === "value" || name === "bytes";
  const properties = Object.fromEntries(names.map((name) => [name, isAny(name) ? {} : { type: "string" }]));
  return {
    description,
    inputSchema: { type: "object", properties, required: [...names] },
    execute: async (args) => {
      const given = args as Args;
      for (const name of names) {
        const isMissing = isAny(name) ? given[name] === undefined : typeof given[name] !== "string";
        if (isMissing) throw new TypeError(`"${name}" is missing, or is not a text.`);
      }
      // Checked above, except for values that may be anything.
      const result = await run(given as Record<Name, string>);
      return result === undefined ? null : result;
    }
  };
}

function bytesArgument(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value;
  if (Array.isArray(value)) return Uint8Array.from(value as number[]);
  throw new TypeError('"bytes" must be a Uint8Array or a list of numbers.');
}

async function diffFiles(
  files: WorkspaceFsLike,
  { path, otherPath }: Record<"path" | "otherPath", string>
): Promise<string> {
  const [before, after] = [await files.readFile(path), await files.readFile(otherPath)];
  if (before === null || after === null) throw new TypeError(`${before === null ? path : otherPath} does not exist.`);
  return textDiff(before, after, { before: path, after: otherPath });
}

async function searchFiles(
  files: WorkspaceFsLike,
  { pattern, query }: Record<"pattern" | "query", string>
): Promise<{ matches: { path: string; line: number; text: string }[]; truncated: boolean }> {
  const matches: { path: string; line: number; text: string }[] = [];
  const found = (await files.glob(pattern)).filter(({ type }) => type === "file");
  for (const { path } of found.slice(0, MAX_SEARCHED_FILES)) {
    const lines = ((await files.readFile(path)) ?? "").split("\n");
    for (const [index, text] of lines.entries()) {
      if (!text.includes(query)) continue;
      if (matches.length >= MAX_MATCHES) return { matches, truncated: true };
      matches.push({ path, line: index + 1, text: text.slice(0, MAX_LINE_CHARS) });
    }
  }
  return { matches, truncated: found.length > MAX_SEARCHED_FILES };
}

async function replaceInFiles(
  files: WorkspaceFsLike,
  { pattern, search, replacement }: Record<(typeof REPLACE)[number], string>
): Promise<Record<string, number>> {
  if (search === "") throw new TypeError('"search" must not be empty.');
  const found = (await files.glob(pattern)).filter(({ type }) => type === "file");
  if (found.length > MAX_SEARCHED_FILES)
    throw new TypeError(`At most ${MAX_SEARCHED_FILES} files are changed at once.`);
  const counts: Record<string, number> = {};
  for (const { path } of found) {
    const text = (await files.readFile(path)) ?? "";
    const pieces = text.split(search);
    if (pieces.length === 1) continue;
    await files.writeFile(path, pieces.join(replacement));
    counts[path] = pieces.length - 1;
  }
  return counts;
}
