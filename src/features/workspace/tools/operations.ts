// What each tool needs of a file system. A `Workspace` has all of it; a folder, a bucket or a proxy may bring only what
// its tools use. Results may come at once or later.
import type { MaybePromise } from "../../../util/maybe-promise.ts";
import type { FileInfo, FileStat } from "../store/entries.ts";
import type { FileChange, RefusedChange } from "../store/changes.ts";

export interface ReadOperations {
  readFile(path: string): MaybePromise<string | null>;
  readFileBytes(path: string): MaybePromise<Uint8Array | null>;
  stat(path: string): MaybePromise<FileStat | null>;
}

export interface WriteOperations {
  writeFile(path: string, content: string): MaybePromise<void>;
  mkdir(path: string, options?: { recursive?: boolean }): MaybePromise<void>;
  /** The result shows what changed, if this is there. */
  readFile?(path: string): MaybePromise<string | null>;
}

export interface EditOperations {
  readFile(path: string): MaybePromise<string | null>;
  writeFile(path: string, content: string): MaybePromise<void>;
}

export interface ListOperations {
  readDir(dir: string, options?: { limit?: number; offset?: number; strict?: boolean }): MaybePromise<FileInfo[]>;
  /** A missing directory is an error, if this is there. */
  stat?(path: string): MaybePromise<FileStat | null>;
  /** The result says how many entries there are, if this is there. */
  countDir?(dir: string): MaybePromise<number>;
}

export interface FindOperations {
  glob(pattern: string): MaybePromise<FileInfo[]>;
}

export interface GrepOperations {
  glob(pattern: string): MaybePromise<FileInfo[]>;
  readFile(path: string): MaybePromise<string | null>;
}

export interface DeleteOperations {
  rm(path: string, options?: { recursive?: boolean; force?: boolean }): MaybePromise<void>;
  /** The result says whether there was anything, if this or `lstat` is there. */
  stat?(path: string): MaybePromise<FileStat | null>;
  lstat?(path: string): MaybePromise<FileStat | null>;
}

export interface BashOperations {
  readDir(dir: string, options?: { limit?: number; offset?: number }): MaybePromise<FileInfo[]>;
  readFileBytes(path: string): MaybePromise<Uint8Array | null>;
  writeFile(path: string, content: string): MaybePromise<void>;
  mkdir(path: string, options?: { recursive?: boolean }): MaybePromise<void>;
  rm(path: string, options?: { recursive?: boolean; force?: boolean }): MaybePromise<void>;
  /** Only text is written back where this is missing. */
  writeFileBytes?(path: string, content: Uint8Array): MaybePromise<void>;
  /** Links are not written back where this is missing. */
  symlink?(target: string, path: string): MaybePromise<void>;
  lstat?(path: string): MaybePromise<FileStat | null>;
  /** Writes everything back at once, and refuses what another writer changed. */
  applyChanges?(changes: readonly FileChange[]): MaybePromise<RefusedChange[]>;
}
