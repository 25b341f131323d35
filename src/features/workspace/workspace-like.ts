// The shapes by which a workspace can be replaced: a proxy to a parent's files, a folder, a bucket. Every method may
// answer at once or later.
import type { FileInfo, FileStat } from "./store/entries.ts";

type Awaitable<T> = T | Promise<T>;

/** What `Think.workspace` and the tools need. */
export interface WorkspaceLike {
  readFile(path: string): Awaitable<string | null>;
  readFileBytes(path: string): Awaitable<Uint8Array | null>;
  writeFile(path: string, content: string, mimeType?: string): Awaitable<void>;
  readDir(dir?: string, options?: { limit?: number; offset?: number }): Awaitable<FileInfo[]>;
  rm(path: string, options?: { recursive?: boolean; force?: boolean }): Awaitable<void>;
  glob(pattern: string): Awaitable<FileInfo[]>;
  mkdir(path: string, options?: { recursive?: boolean }): Awaitable<void>;
  stat(path: string): Awaitable<FileStat | null>;
  /** Without it `bash` writes text only. */
  writeFileBytes?(path: string, content: Uint8Array, mimeType?: string): Awaitable<void>;
}

/** What the file namespace of code execution needs. */
export interface WorkspaceFsLike extends WorkspaceLike {
  writeFileBytes(path: string, content: Uint8Array, mimeType?: string): Awaitable<void>;
  appendFile(path: string, content: string, mimeType?: string): Awaitable<void>;
  exists(path: string): Awaitable<boolean>;
  lstat(path: string): Awaitable<FileStat | null>;
  cp(src: string, dest: string, options?: { recursive?: boolean }): Awaitable<void>;
  mv(src: string, dest: string, options?: { recursive?: boolean }): Awaitable<void>;
  symlink(target: string, path: string): Awaitable<void>;
  readlink(path: string): Awaitable<string>;
}
