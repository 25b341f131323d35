// The package just-bash, as far as it is used. Its types are repeated here because the package may not be installed where
// ours is compiled against.

export interface ShellStat {
  isFile: boolean;
  isDirectory: boolean;
  isSymbolicLink: boolean;
  mode: number;
  size: number;
  mtime: Date;
  identity?: string;
}

export interface ShellEntry {
  name: string;
  isFile: boolean;
  isDirectory: boolean;
  isSymbolicLink: boolean;
}

export type ShellEncoding = "utf8" | "utf-8" | "ascii" | "binary" | "base64" | "hex" | "latin1";
export type ShellEncodingOption = ShellEncoding | { encoding?: ShellEncoding | null } | undefined;

/** The file system of the interpreter. */
export interface ShellFileSystem {
  readFile(path: string, options?: ShellEncodingOption): Promise<string>;
  readFileBuffer(path: string): Promise<Uint8Array>;
  writeFile(path: string, content: string | Uint8Array, options?: ShellEncodingOption): Promise<void>;
  appendFile(path: string, content: string | Uint8Array, options?: ShellEncodingOption): Promise<void>;
  exists(path: string): Promise<boolean>;
  stat(path: string): Promise<ShellStat>;
  lstat(path: string): Promise<ShellStat>;
  mkdir(path: string, options?: { recursive?: boolean }): Promise<void>;
  readdir(path: string): Promise<string[]>;
  readdirWithFileTypes(path: string): Promise<ShellEntry[]>;
  rm(path: string, options?: { recursive?: boolean; force?: boolean }): Promise<void>;
  cp(src: string, dest: string, options?: { recursive?: boolean }): Promise<void>;
  mv(src: string, dest: string): Promise<void>;
  resolvePath(base: string, path: string): string;
  getAllPaths(): string[];
  chmod(path: string, mode: number): Promise<void>;
  symlink(target: string, linkPath: string): Promise<void>;
  link(existingPath: string, newPath: string): Promise<void>;
  readlink(path: string): Promise<string>;
  realpath(path: string): Promise<string>;
  utimes(path: string, atime: Date, mtime: Date): Promise<void>;
  /** The interpreter makes /bin, /dev and /proc with this and the next. */
  mkdirSync(path: string, options?: { recursive?: boolean }): void;
  writeFileSync(path: string, content: string | Uint8Array): void;
}

export interface ShellFetchOptions {
  method?: string;
  headers?: Headers | Record<string, string>;
  body?: string;
  followRedirects?: boolean;
  timeoutMs?: number;
  maxRedirects?: number;
  signal?: AbortSignal;
}

export interface ShellFetchResult {
  status: number;
  statusText: string;
  headers: Record<string, string>;
  body: Uint8Array;
  url: string;
}

export type ShellFetch = (url: string, options?: ShellFetchOptions) => Promise<ShellFetchResult>;

export interface ShellResult {
  stdout: string;
  stderr: string;
  exitCode: number;
}

/** A command that this package adds. `stdin` is a text with a byte per character. */
export interface ShellCommand {
  name: string;
  execute(args: string[], context: { stdin: unknown }): Promise<ShellResult>;
}

interface ShellOptions {
  fs: ShellFileSystem;
  cwd: string;
  executionLimits: Record<string, number>;
  fetch?: ShellFetch;
  customCommands?: ShellCommand[];
  defenseInDepth?: boolean;
}

interface ShellExecOptions {
  cwd: string;
  rawScript: boolean;
  signal: AbortSignal;
  stdin?: string;
}

/** The result of `import("just-bash")`. */
export interface ShellModule {
  readonly Bash: new (options: ShellOptions) => {
    exec(script: string, options: ShellExecOptions): Promise<ShellResult>;
  };
  /** A file system of its own, for scripts that have none. */
  readonly InMemoryFs: new (files?: Record<string, string | Uint8Array>) => ShellFileSystem;
}
