// File systems that are no Workspace, to run the tools on: a folder of this machine, and a map in memory that answers
// later, has nothing beyond the required methods and throws plain errors.
import { mkdtempSync } from "node:fs";
import { mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Tool } from "ai";
import { compileGlob } from "../match/glob.ts";
import { nameOf, normalizePath, parentOf } from "../paths.ts";
import type { FileInfo } from "../store/entries.ts";
import type { WorkspaceLike } from "../workspace-like.ts";

/** Runs a tool as the SDK does: checks the input first. */
export async function callTool<Output>(
  tool: { inputSchema: unknown; execute?: unknown },
  input: object,
  abortSignal?: AbortSignal
): Promise<Output> {
  const { validate } = tool.inputSchema as {
    validate: (value: unknown) => { success: boolean; value: unknown; error: Error };
  };
  const checked = validate(input);
  if (!checked.success) throw checked.error;
  const execute = tool.execute as (input: unknown, options: object) => Promise<Output>;
  return await execute(checked.value, { toolCallId: "call", messages: [], abortSignal });
}

export async function modelOutput(tool: Tool, input: object, output: unknown): Promise<unknown> {
  return await tool.toModelOutput?.({ toolCallId: "call", input: input as never, output: output as never });
}

export class MemoryFiles implements WorkspaceLike {
  readonly files = new Map<string, Uint8Array>();
  readonly directories = new Set<string>();

  async readFile(path: string): Promise<string | null> {
    const bytes = await this.readFileBytes(path);
    return bytes === null ? null : new TextDecoder().decode(bytes);
  }

  async readFileBytes(path: string): Promise<Uint8Array | null> {
    if (this.directories.has(normalizePath(path))) throw new Error(`EISDIR: ${path}`);
    return this.files.get(normalizePath(path)) ?? null;
  }

  async writeFile(path: string, content: string): Promise<void> {
    const target = normalizePath(path);
    if (parentOf(target) !== "/" && !this.directories.has(parentOf(target)))
      throw new Error(`ENOENT: ${parentOf(target)}`);
    this.files.set(target, new TextEncoder().encode(content));
  }

  async readDir(dir = "/", { limit = 1_000, offset = 0 } = {}): Promise<FileInfo[]> {
    const all = this.#entries().filter(({ path }) => parentOf(path) === normalizePath(dir));
    return all.slice(offset, offset + limit);
  }

  async glob(pattern: string): Promise<FileInfo[]> {
    const glob = compileGlob(pattern);
    return this.#entries().filter(({ path }) => glob.matches(path));
  }

  async rm(path: string, options: { recursive?: boolean; force?: boolean } = {}): Promise<void> {
    const target = normalizePath(path);
    const below = this.#entries().filter((entry) => entry.path.startsWith(`${target}/`));
    if (below.length > 0 && !options.recursive) throw new Error(`ENOTEMPTY: ${path}`);
    const existed = [...below.map((entry) => entry.path), target].filter(
      (each) => this.files.delete(each) || this.directories.delete(each)
    );
    if (existed.length === 0 && !options.force) throw new Error(`ENOENT: ${path}`);
  }

  async mkdir(path: string, options: { recursive?: boolean } = {}): Promise<void> {
    const target = normalizePath(path);
    if (options.recursive && parentOf(target) !== "/") await this.mkdir(parentOf(target), options);
    this.directories.add(target);
  }

  async stat(path: string): Promise<FileInfo | null> {
    return this.#entries().find((entry) => entry.path === normalizePath(path)) ?? null;
  }

  #entries(): FileInfo[] {
    const info = (path: string, type: "file" | "directory", size: number): FileInfo => ({
      path,
      name: nameOf(path),
      type,
      mimeType: "",
      size,
      createdAt: 0,
      updatedAt: 0
    });
    const directories = [...this.directories].map((path) => info(path, "directory", 0));
    const files = [...this.files].map(([path, bytes]) => info(path, "file", bytes.byteLength));
    return [...directories, ...files].sort((a, b) => (a.path < b.path ? -1 : 1));
  }
}

/** As a user would write it. */
export class FolderFiles implements WorkspaceLike {
  readonly root = mkdtempSync(join(tmpdir(), "everthink-folder-"));

  async readFile(path: string): Promise<string | null> {
    const bytes = await this.readFileBytes(path);
    return bytes === null ? null : new TextDecoder().decode(bytes);
  }

  async readFileBytes(path: string): Promise<Uint8Array | null> {
    return await readFile(this.#on(path)).catch(missingIsNull);
  }

  async writeFile(path: string, content: string): Promise<void> {
    await writeFile(this.#on(path), content);
  }

  async writeFileBytes(path: string, content: Uint8Array): Promise<void> {
    await writeFile(this.#on(path), content);
  }

  async readDir(dir = "/", { limit = 1_000, offset = 0 } = {}): Promise<FileInfo[]> {
    const names = (await readdir(this.#on(dir))).sort().slice(offset, offset + limit);
    return await Promise.all(names.map(async (name) => await this.#info(`${dir}/${name}`)));
  }

  async glob(pattern: string): Promise<FileInfo[]> {
    const glob = compileGlob(pattern);
    const names = await readdir(this.root, { recursive: true });
    const paths = names.map((name) => `/${name}`).filter((path) => glob.matches(path));
    return await Promise.all(paths.sort().map(async (path) => await this.#info(path)));
  }

  async rm(path: string, options: { recursive?: boolean; force?: boolean } = {}): Promise<void> {
    const info = await this.stat(path);
    if (info?.type === "directory" && !options.recursive && (await this.readDir(path)).length > 0)
      throw new Error(`ENOTEMPTY: ${path}`);
    await rm(this.#on(path), { recursive: info?.type === "directory", force: options.force ?? false });
  }

  async mkdir(path: string, options: { recursive?: boolean } = {}): Promise<void> {
    await mkdir(this.#on(path), options);
  }

  async stat(path: string): Promise<FileInfo | null> {
    const found = await stat(this.#on(path)).catch(missingIsNull);
    if (found === null) return null;
    const target = normalizePath(path);
    return {
      path: target,
      name: nameOf(target),
      type: found.isDirectory() ? "directory" : "file",
      mimeType: "",
      size: found.size,
      createdAt: found.birthtimeMs,
      updatedAt: found.mtimeMs
    };
  }

  async #info(path: string): Promise<FileInfo> {
    const info = await this.stat(path);
    if (!info) throw new Error(`ENOENT: ${path}`);
    return info;
  }

  #on(path: string): string {
    return join(this.root, normalizePath(path));
  }
}

function missingIsNull(error: { code?: string }): null {
  if (error.code === "ENOENT") return null;
  throw error as Error;
}
