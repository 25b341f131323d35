// `grep`: lines of text files by a regular expression or a text. Bounded: matches, files, bytes, and the work of the
// matcher, which is linear in the text whatever the expression.
import { tool, type Tool } from "ai";
import { countLines } from "../../../util/diff.ts";
import { WorkLimitError } from "../match/automaton.ts";
import { isTextType, namedType } from "../../../util/media-type.ts";
import type { FileInfo } from "../store/entries.ts";
import { orFailure, type ToolFailure } from "./failure.ts";
import { toolInput } from "../../../feature/tool-input.ts";
import { compileSearch, type FoundLine, findLinesAround, type LineSearch, textOfLine } from "./line-search.ts";
import type { GrepOperations } from "./operations.ts";
import { cutLine } from "./read.ts";

const MAX_MATCHES = 200;
const MAX_FILE_BYTES = 1_048_576;
const MAX_TOTAL_BYTES = 128 * 1024 * 1024;
/** Characters after which a search pauses: other events of the object have their turn, a stop among them. */
const PAUSE_CHARS = 4_000_000;

export interface GrepInput {
  query: string;
  include?: string;
  fixedString?: boolean;
  caseSensitive?: boolean;
  contextLines?: number;
}

export interface GrepContext {
  file: string;
  line: number;
  context: string;
}

export interface GrepResult {
  query: string;
  filesSearched: number;
  filesWithMatches: number;
  totalMatches: number;
  matches: (string | GrepContext)[];
  truncated?: boolean;
  filesSkipped?: number;
  note?: string;
}

export type GrepOutput = ToolFailure | GrepResult;

/** @example const tools = { grep: createGrepTool({ ops: workspace }) }; */
export function createGrepTool(options: { readonly ops: GrepOperations }): Tool<GrepInput, GrepOutput> {
  return tool({
    description:
      "Searches the text files of the workspace line by line, by a regular expression (without look-around and back-references) or, with fixedString, by a text. Case is ignored unless caseSensitive is set.",
    inputSchema: toolInput<GrepInput>({
      query: { type: "string", description: "The expression or text" },
      include: { type: "string", isOptional: true, description: "Glob of the files to search; **/* by default" },
      fixedString: { type: "boolean", isOptional: true, description: "Take the query as text" },
      caseSensitive: { type: "boolean", isOptional: true, description: "Upper and lower case differ" },
      contextLines: {
        type: "integer",
        minimum: 0,
        maximum: 10,
        isOptional: true,
        description: "Lines to show around a match"
      }
    }),
    execute: (input, { abortSignal }) => orFailure(() => new Search(options.ops, input).run(abortSignal))
  });
}

class Search {
  readonly #ops: GrepOperations;
  readonly #input: GrepInput;
  readonly #matches: GrepResult["matches"] = [];
  #searched = 0;
  #withMatches = 0;
  #skipped = 0;
  #chars = 0;
  #stop: string | undefined;

  constructor(ops: GrepOperations, input: GrepInput) {
    this.#ops = ops;
    this.#input = input;
  }

  async run(signal: AbortSignal | undefined): Promise<GrepOutput> {
    const search = compileSearch(this.#input);
    if (!search) return { error: `Invalid regex: ${this.#input.query}` };
    let nextPause = PAUSE_CHARS;
    for (const file of await this.#ops.glob(this.#input.include ?? "**/*")) {
      signal?.throwIfAborted();
      if (file.type !== "file") continue;
      if (!isSearchable(file)) {
        this.#skipped += file.size > MAX_FILE_BYTES ? 1 : 0;
        continue;
      }
      const text = await this.#ops.readFile(file.path);
      // What has no type, or a wrong one, shows here that it is no text.
      if (text === null || text.includes("\0")) continue;
      try {
        this.#searchFile(file.path, text, search);
      } catch (error) {
        if (!(error instanceof WorkLimitError)) throw error;
        this.#stop = `The search was stopped. ${error.message}`;
      }
      if (this.#stop !== undefined) break;
      if (this.#chars < nextPause) continue;
      nextPause = this.#chars + PAUSE_CHARS;
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
    return this.#result();
  }

  #searchFile(path: string, text: string, search: LineSearch): void {
    this.#searched += 1;
    this.#chars += text.length;
    const before = this.#matches.length;
    let number = 1;
    let counted = 0;
    for (let from = 0; from <= text.length && this.#stop === undefined;) {
      const line = search(text, from);
      if (!line) break;
      number += countLines(text.slice(counted, line.start)) - 1;
      counted = line.start;
      this.#add(path, number, { text, line });
      from = line.end + 1;
    }
    if (this.#matches.length > before) this.#withMatches += 1;
    if (this.#chars > MAX_TOTAL_BYTES) this.#stop = "The search was stopped: it has read enough; narrow include.";
  }

  #add(path: string, number: number, { text, line }: { readonly text: string; readonly line: FoundLine }): void {
    const show = (each: FoundLine) => cutLine(textOfLine(text, each));
    const around = this.#input.contextLines ?? 0;
    if (around === 0) this.#matches.push(`${path}:${number}: ${show(line)}`);
    else {
      const { lines, first } = findLinesAround(text, line, around);
      const context = lines.map(
        (each, index) => `${index === first ? ">" : " "} ${number - first + index}\t${show(each)}`
      );
      this.#matches.push({ file: path, line: number, context: context.join("\n") });
    }
    if (this.#matches.length >= MAX_MATCHES) this.#stop = `The search was stopped at ${MAX_MATCHES} matches.`;
  }

  #result(): GrepResult {
    const notes = [
      ...(this.#skipped > 0 ? [`${this.#skipped} files over 1 MB were skipped; search them with bash.`] : []),
      ...(this.#stop === undefined ? [] : [this.#stop])
    ];
    return {
      query: this.#input.query,
      filesSearched: this.#searched,
      filesWithMatches: this.#withMatches,
      totalMatches: this.#matches.length,
      matches: this.#matches,
      ...(this.#stop !== undefined && { truncated: true }),
      ...(this.#skipped > 0 && { filesSkipped: this.#skipped }),
      ...(notes.length > 0 && { note: notes.join(" ") })
    };
  }
}

function isSearchable({ size, mimeType }: FileInfo): boolean {
  const type = namedType(mimeType);
  return size <= MAX_FILE_BYTES && (type === undefined || isTextType(type));
}
