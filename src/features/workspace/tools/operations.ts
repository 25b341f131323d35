// What each tool needs of a file system. A `Workspace` has all of it; a folder, a bucket or a proxy may bring only what
// its tools use. Results may come at once or later.
import type { FileInfo, FileStat } from "../store/entries.ts";
import type { FileChange, RefusedChange } from "../store/changes.ts";

type Awaitable<T> = T | Promise<T>;

export interface ReadOperations {
  readFile(path: string): Awaitable<string | null>;
  readFileBytes(path: string): Awaitable<Uint8Array | null>;
  stat(path: string): Awaitable<FileStat | null>;
}

export interface WriteOperations {
  writeFile(path: string, content: string): Awaitable<void>;
  mkdir(path: string, options?: { recursive?: boolean }): Awaitable<void>;
  /** With it the result shows what changed. */
  readFile?(path: string): Awaitable<string | null>;
}

export interface EditOperations {
  readFile(path: string): Awaitable<string | null>;
  writeFile(path: string, content: string): Awaitable<void>;
}

export interface ListOperations {
  readDir(dir: string, options?: { limit?: number; offset?: number; strict?: boolean }): Awaitable<FileInfo[]>;
  /** With them a missing directory is an error, and the result says how many entries there are. */
  stat?(path: string): Awaitable<FileStat | null>;
  countDir?(dir: string): Awaitable<number>;
}

export interface FindOperations {
  glob(pattern: string): Awaitable<FileInfo[]>;
}

export interface GrepOperations {
  glob(pattern: string): Awaitable<FileInfo[]>;
  readFile(path: string): Awaitable<string | null>;
}

export interface DeleteOperations {
  rm(path: string, options?: { recursive?: boolean; force?: boolean }): Awaitable<void>;
  /** With it the result says whether there was anything. */
  stat?(path: string): Awaitable<FileStat | null>;
  lstat?(path: string): Awaitable<FileStat | null>;
}

export interface BashOperations {
  readDir(dir: string, options?: { limit?: number; offset?: number }): Awaitable<FileInfo[]>;
  readFileBytes(path: string): Awaitable<Uint8Array | null>;
  writeFile(path: string, content: string): Awaitable<void>;
  mkdir(path: string, options?: { recursive?: boolean }): Awaitable<void>;
  rm(path: string, options?: { recursive?: boolean; force?: boolean }): Awaitable<void>;
  /** Without it only text is written back. */
  writeFileBytes?(path: string, content: Uint8Array): Awaitable<void>;
  /** Without it links are not written back. */
  symlink?(target: string, path: string): Awaitable<void>;
  lstat?(path: string): Awaitable<FileStat | null>;
  /** Writes everything back at once, and refuses what another writer changed. */
  applyChanges?(changes: readonly FileChange[]): Awaitable<RefusedChange[]>;
}
