// The workspace, tools, the network and output files, as far as the class lets one run of a script reach each. Everything is
// checked here, on the side of the agent; when the run is over nothing is answered any more.
import type { ModelMessage, ToolSet } from "ai";
import { installedSdk } from "../../../model/index.ts";
import { byteLength } from "../../../util/bytes.ts";
import { errorMessage } from "../../../util/errors.ts";
import { type BashNetwork, shellFetch } from "../../workspace/bash/network.ts";
import type { ShellFetch } from "../../workspace/bash/interpreter.ts";
import type { WorkspaceLike } from "../../workspace/workspace-like.ts";
import { MAX_HOST_CALLS, MAX_WORKSPACE_FILE_BYTES, outputFileProblem, outputNameProblem } from "./limits.ts";
import type { SkillOutputFile } from "./script.ts";

/** A workspace, as far as it is used. */
export type ScriptWorkspace = Pick<WorkspaceLike, "readFile" | "writeFile" | "readDir" | "glob" | "stat">;

export interface CapabilityOptions {
  readonly workspaceInstance?: ScriptWorkspace;
  readonly workspace?: "none" | "read" | "read-write";
  readonly tools?: ToolSet | (() => ToolSet | Promise<ToolSet>);
  readonly network?: BashNetwork;
}

export interface RunContext {
  readonly toolCallId: string;
  readonly messages: readonly ModelMessage[];
  readonly signal: AbortSignal;
}

export class Capabilities {
  readonly access: "none" | "read" | "read-write";
  readonly tools: ToolSet;
  readonly #files: ScriptWorkspace | undefined;
  readonly #context: RunContext;
  readonly #fetch: ShellFetch | undefined;
  readonly #outputs = new Map<string, string>();
  #calls = 0;
  #isOver = false;

  private constructor(options: CapabilityOptions, tools: ToolSet, context: RunContext) {
    this.#files = options.workspaceInstance;
    this.access = this.#files ? (options.workspace ?? "read") : "none";
    this.tools = tools;
    this.#context = context;
    this.#fetch = shellFetch(options.network ?? false);
  }

  static async open(options: CapabilityOptions, context: RunContext): Promise<Capabilities> {
    const { tools = {} } = options;
    return new Capabilities(options, typeof tools === "function" ? await tools() : tools, context);
  }

  /** Ends the run: a script that goes on all the same reaches nothing. */
  close(): void {
    this.#isOver = true;
  }

  get outputFiles(): SkillOutputFile[] {
    return [...this.#outputs].map(([path, content]) => ({ path, encoding: "text", content }));
  }

  /** The `fetch` of the run; undefined without network. */
  get fetch(): ShellFetch | undefined {
    const fetcher = this.#fetch;
    if (!fetcher) return undefined;
    return (url, options) => {
      this.#count();
      return fetcher(url, { ...options, signal: this.#context.signal });
    };
  }

  async readFile(path: string): Promise<string | null> {
    const files = this.#readable();
    const size = (await files.stat(checkText(path)))?.size ?? 0;
    if (size > MAX_WORKSPACE_FILE_BYTES)
      throw new Error(`${path} has ${size} bytes; at most ${MAX_WORKSPACE_FILE_BYTES} are read.`);
    return await files.readFile(path);
  }

  async listFiles(path = "."): Promise<string[]> {
    const entries = await this.#readable().readDir(checkText(path) === "." ? "/" : path, { limit: 1_000 });
    return entries.map(({ name, type }) => (type === "directory" ? `${name}/` : name));
  }

  async glob(pattern: string): Promise<string[]> {
    return (await this.#readable().glob(checkText(pattern))).slice(0, 1_000).map(({ path }) => path);
  }

  async stat(path: string): Promise<{ type: string; size: number } | null> {
    const found = await this.#readable().stat(checkText(path));
    return found && { type: found.type, size: found.size };
  }

  async writeFile(path: string, content: string): Promise<void> {
    const files = this.#readable();
    if (this.access !== "read-write") throw new Error("Workspace write access is not available.");
    if (byteLength(checkText(content)) > MAX_WORKSPACE_FILE_BYTES)
      throw new Error(`At most ${MAX_WORKSPACE_FILE_BYTES} bytes are written.`);
    await files.writeFile(checkText(path), content);
  }

  /** Calls a tool. The input is checked as for a call of the model. A tool that asks for approval is not run. */
  async callTool(name: string, input: unknown): Promise<unknown> {
    this.#count();
    const tool = Object.hasOwn(this.tools, checkText(name)) ? this.tools[name] : undefined;
    if (!tool?.execute) throw new Error(`Tool not available: ${name}`);
    if (tool.needsApproval !== undefined && tool.needsApproval !== false)
      throw new Error(`Tool "${name}" needs an approval; a script cannot call it.`);
    const checked = await installedSdk().validateInput(tool.inputSchema, input);
    if (!checked.ok) throw new Error(`Invalid input for "${name}": ${errorMessage(checked.error)}`);
    const { toolCallId, messages, signal: abortSignal } = this.#context;
    const options = { toolCallId, messages: [...messages], abortSignal, context: {} };
    const result: unknown = await tool.execute(checked.value, options);
    return await readLast(result);
  }

  /** Keeps a file as a part of the result: a text as it is, another value, such as a tool's result, as JSON. */
  writeOutput(name: string, value: unknown): void {
    this.#count();
    const problem = outputNameProblem(name);
    if (problem !== undefined) throw new Error(problem);
    const content = typeof value === "string" ? value : checkText(JSON.stringify(value, null, 2));
    const others = this.#outputs.size - (this.#outputs.has(name) ? 1 : 0);
    const refused = outputFileProblem(name, byteLength(content), others);
    if (refused !== undefined) throw new Error(refused);
    this.#outputs.set(name, content);
  }

  #readable(): ScriptWorkspace {
    this.#count();
    if (!this.#files || this.access === "none") throw new Error("Workspace access is not available.");
    return this.#files;
  }

  #count(): void {
    if (this.#isOver) throw new Error("The script has ended.");
    this.#calls += 1;
    if (this.#calls > MAX_HOST_CALLS) throw new Error(`A script may make at most ${MAX_HOST_CALLS} calls.`);
  }
}

/** Checks that a value is a text, and throws for any other: a script may pass anything. */
function checkText(value: unknown): string {
  if (typeof value !== "string") throw new TypeError("A text is expected.");
  return value;
}

/** Waits for the last result of a tool that yields several. */
async function readLast(result: unknown): Promise<unknown> {
  if (typeof result !== "object" || result === null || !(Symbol.asyncIterator in result)) return result;
  let last: unknown;
  for await (const one of result as AsyncIterable<unknown>) last = one;
  return last;
}
