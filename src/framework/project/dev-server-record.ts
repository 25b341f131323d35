// Where the development server of a project listens: a file beside its data, written when it listens and removed when it
// closes. Commands read it, so that they find the project's server on whatever port, and never the one of another project.
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { ViteDevServer } from "vite";
import { isObject } from "../../util/json.ts";
import { makePrivateFolder } from "../serve/data-lock.ts";

const FOLDER = ".wrangler";
const FILE = "everthink-dev.json";

export class DevServerRecord {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  follow({ httpServer, config }: Pick<ViteDevServer, "httpServer" | "config">): void {
    httpServer?.once("listening", () => {
      const address = httpServer.address();
      if (address !== null && typeof address !== "string") this.#write(originOf(address, Boolean(config.server.https)));
    });
    httpServer?.once("close", () => this.#remove());
  }

  #write(origin: string): void {
    try {
      makePrivateFolder(join(this.#root, FOLDER));
      const text = JSON.stringify({ origin, pid: process.pid });
      writeFileSync(this.#path, text, { mode: 0o600 });
    } catch {
      // A folder that cannot be written to: commands are given the address by hand, as before.
    }
  }

  /** Another server of the project may have written its own since. */
  #remove(): void {
    if (readRecord(this.#path)?.pid === process.pid) rmSync(this.#path, { force: true });
  }

  get #path(): string {
    return join(this.#root, FOLDER, FILE);
  }
}

/** The address of the project's development server; undefined when none runs. */
export function runningDevServer(root: string): string | undefined {
  const record = readRecord(join(root, FOLDER, FILE));
  // A process that was killed leaves its record.
  return record !== undefined && isAlive(record.pid) ? record.origin : undefined;
}

/** An address for all of the machine's is reached at localhost. */
function originOf({ address, family, port }: AddressInfo, isSecure: boolean): string {
  const isOwn = ["::", "0.0.0.0", "::1", "127.0.0.1"].includes(address);
  const host = isOwn ? "localhost" : family === "IPv6" ? `[${address}]` : address;
  return `${isSecure ? "https" : "http"}://${host}:${port}`;
}

function readRecord(path: string): { origin: string; pid: number } | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    if (!isObject(value)) return undefined;
    const { origin, pid } = value;
    return typeof origin === "string" && URL.canParse(origin) && typeof pid === "number" ? { origin, pid } : undefined;
  } catch {
    return undefined; // There is none, or it is being written.
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // It runs, and belongs to another user.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
