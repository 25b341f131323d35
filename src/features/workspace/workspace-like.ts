// The shapes by which a workspace can be replaced: a proxy to a parent's files, a folder, a bucket. Every method may
// answer at once or later.
import type { MaybePromise } from "../../util/maybe-promise.ts";
import type { FileInfo, FileStat } from "./store/entries.ts";

/** The files as `Think.workspace` and the tools need them. */
export interface WorkspaceLike {
  readFile(path: string): MaybePromise<string | null>;
  readFileBytes(path: string): MaybePromise<Uint8Array | null>;
  writeFile(path: string, content: string, mimeType?: string): MaybePromise<void>;
  readDir(dir?: string, options?: { limit?: number; offset?: number }): MaybePromise<FileInfo[]>;
  rm(path: string, options?: { recursive?: boolean; force?: boolean }): MaybePromise<void>;
  glob(pattern: string): MaybePromise<FileInfo[]>;
  mkdir(path: string, options?: { recursive?: boolean }): MaybePromise<void>;
  stat(path: string): MaybePromise<FileStat | null>;
  /** `bash` writes text only where this is missing. */
  writeFileBytes?(path: string, content: Uint8Array, mimeType?: string): MaybePromise<void>;
}

/** The files as the file namespace of code execution needs them. */
export interface WorkspaceFsLike extends WorkspaceLike {
  writeFileBytes(path: string, content: Uint8Array, mimeType?: string): MaybePromise<void>;
  appendFile(path: string, content: string, mimeType?: string): MaybePromise<void>;
  exists(path: string): MaybePromise<boolean>;
  lstat(path: string): MaybePromise<FileStat | null>;
  cp(src: string, dest: string, options?: { recursive?: boolean }): MaybePromise<void>;
  mv(src: string, dest: string, options?: { recursive?: boolean }): MaybePromise<void>;
  symlink(target: string, path: string): MaybePromise<void>;
  readlink(path: string): MaybePromise<string>;
}
