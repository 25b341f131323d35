// The instances of an agent class whose data is on this machine, by name. Read from the objects' own files, without touching
// them. A name never changes, so each file is read once.
import { identityIn, readAgentName } from "../local-data/agent-name.ts";
import { developedFolders, objectFiles, readCopyOfObject, type ObjectFile } from "../local-data/object-files.ts";
import type { DevelopedProject } from "./studio-arguments.ts";

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

export class InstanceNames {
  readonly #byFile = new Map<string, string>();

  /** Newest first. A folder that does not exist has none. */
  async in(folders: readonly string[]): Promise<LocalInstances> {
    const files = folders
      .flatMap(objectFiles)
      .filter(({ isChild }) => !isChild)
      .sort((first, second) => second.changedAt - first.changedAt);
    const instances: LocalInstance[] = [];
    const budget = { leftBytes: MAX_COPIED_BYTES };
    for (const object of files.slice(0, MAX_INSTANCES)) {
      const { file, changedAt, sizeBytes } = object;
      const name = this.#byFile.get(file) ?? nameOf(object, budget);
      if (name === undefined) continue;
      this.#byFile.set(file, name);
      instances.push({ name, changedAt, sizeBytes });
    }
    return { instances, isCut: instances.length < files.length };
  }
}

/** Lists the instances of an agent of a project under development, by the agent's id. */
export function developedInstances({ root, agents }: DevelopedProject): (agent: string) => Promise<LocalInstances> {
  const names = new InstanceNames();
  return (agent) => names.in(developedFolders(root, agents.find(({ id }) => id === agent)?.className ?? ""));
}

function nameOf({ file, sizeBytes }: ObjectFile, budget: { leftBytes: number }): string | undefined {
  const name = readAgentName(file);
  if (name !== undefined || sizeBytes > budget.leftBytes) return name;
  budget.leftBytes -= sizeBytes;
  return readCopyOfObject(file, identityIn)?.name;
}
