// The instances of an agent class whose data is on this machine, by name. Read from the objects' own files while the server
// has them open, and without touching them: a file is read as it is, with no lock and no log beside it; one whose newest
// writes are still in its log is read from a copy. A name never changes, so each file is read once.
import { copyFileSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readAgentName } from "../serve/agent-name.ts";
import type { DevelopedProject } from "./studio-arguments.ts";

/** Where Cloudflare's development servers keep objects, below the project: one folder per Worker and class. */
const OBJECTS_FOLDER = ".wrangler/state/v3/do";
/** Without children, which have a number: `<id>.1.sqlite`. */
const ROOT_OBJECT = /^[0-9a-f]{64}\.sqlite$/;
/** The newest that are listed. */
const MAX_INSTANCES = 500;
/** Copied for one list at most; what is left is read for the next one. */
const MAX_COPIED_BYTES = 64 * 1024 * 1024;

export interface LocalInstance {
  readonly name: string;
  readonly changedAt: number;
  readonly sizeBytes: number;
}

export interface LocalInstances {
  readonly instances: readonly LocalInstance[];
  /** There are more, or files whose name cannot be read now. */
  readonly isCut: boolean;
}

interface ObjectFile extends Omit<LocalInstance, "name"> {
  readonly file: string;
}

export class InstanceNames {
  readonly #byFile = new Map<string, string>();

  /** Newest first. A folder that does not exist has none. */
  async in(folders: readonly string[]): Promise<LocalInstances> {
    const files = folders.flatMap(objectFiles).sort((first, second) => second.changedAt - first.changedAt);
    const instances: LocalInstance[] = [];
    const budget = { leftBytes: MAX_COPIED_BYTES };
    for (const { file, ...rest } of files.slice(0, MAX_INSTANCES)) {
      const name = this.#byFile.get(file) ?? nameOf(file, rest.sizeBytes, budget);
      if (name === undefined) continue;
      this.#byFile.set(file, name);
      instances.push({ name, ...rest });
    }
    return { instances, isCut: instances.length < files.length };
  }
}

/** Lists the instances of an agent of a project under development, by the agent's id. */
export function developedInstances({ root, agents }: DevelopedProject): (agent: string) => Promise<LocalInstances> {
  const names = new InstanceNames();
  return (agent) => names.in(foldersOf(root, agents.find(({ id }) => id === agent)?.className ?? ""));
}

/** Read anew for each list: a folder appears with the first object of its class. */
function foldersOf(root: string, className: string): string[] {
  const folder = join(root, OBJECTS_FOLDER);
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names.filter((name) => name.endsWith(`-${className}`)).map((name) => join(folder, name));
}

function objectFiles(folder: string): ObjectFile[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder).flatMap((name): ObjectFile[] => {
    if (!ROOT_OBJECT.test(name)) return [];
    const file = join(folder, name);
    const parts = [file, `${file}-wal`].flatMap((one) => statSync(one, { throwIfNoEntry: false }) ?? []);
    const sizeBytes = parts.reduce((sum, { size }) => sum + size, 0);
    return [{ file, sizeBytes, changedAt: Math.max(0, ...parts.map(({ mtimeMs }) => Math.round(mtimeMs))) }];
  });
}

function nameOf(file: string, sizeBytes: number, budget: { leftBytes: number }): string | undefined {
  const name = readAgentName(file, "as it is");
  if (name !== undefined || sizeBytes > budget.leftBytes) return name;
  budget.leftBytes -= sizeBytes;
  return readCopy(file);
}

function readCopy(file: string): string | undefined {
  const scratch = mkdtempSync(join(tmpdir(), "everthink-studio-"));
  try {
    const copy = join(scratch, "object.sqlite");
    for (const suffix of ["", "-wal"]) if (existsSync(file + suffix)) copyFileSync(file + suffix, copy + suffix);
    return readAgentName(copy, "with its log");
  } catch {
    // The object was deleted meanwhile.
    return undefined;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
