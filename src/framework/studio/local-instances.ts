// The instances of an agent class whose data is on this machine, by name, with what was said in them last. Read from the
// objects' own files, without touching them. A name never changes; the rest is read again when its file has changed.
import { identityIn, readAgentName } from "../local-data/agent-name.ts";
import {
  developedFolders,
  objectFiles,
  readCopyOfObject,
  readObject,
  type ObjectDatabase,
  type ObjectFile
} from "../local-data/object-files.ts";
import { readLastWords, type LastWords } from "../../session/last-words.ts";
import type { DevelopedProject } from "./studio-arguments.ts";

/** The newest that are listed. */
const MAX_INSTANCES = 500;
/** Copied for one list at most; what is left is read for the next one. */
const MAX_COPIED_BYTES = 64 * 1024 * 1024;

export interface LocalInstance extends LastWords {
  readonly name: string;
  readonly changedAt: number;
  readonly sizeBytes: number;
}

export interface LocalInstances {
  readonly instances: readonly LocalInstance[];
  /** There are more, or files whose name cannot be read now. */
  readonly isCut: boolean;
}

interface KnownInstance extends LastWords {
  readonly name: string;
  readonly stamp: string;
}

interface CopyBudget {
  leftBytes: number;
}

export class InstanceNames {
  readonly #byFile = new Map<string, KnownInstance>();

  /**
   * The one that was spoken in last first, then those in which nothing was said, newest file first: an alarm writes to a file,
   * and nothing is said by it. A folder that does not exist has none.
   */
  async in(folders: readonly string[]): Promise<LocalInstances> {
    const files = folders
      .flatMap(objectFiles)
      .filter(({ isChild }) => !isChild)
      .sort((first, second) => second.changedAt - first.changedAt);
    const instances: LocalInstance[] = [];
    const budget: CopyBudget = { leftBytes: MAX_COPIED_BYTES };
    for (const object of files.slice(0, MAX_INSTANCES)) {
      const known = this.#read(object, budget);
      if (known === undefined) continue;
      const { stamp: _stamp, ...shown } = known;
      instances.push({ ...shown, changedAt: object.changedAt, sizeBytes: object.sizeBytes });
    }
    instances.sort((first, second) => (second.spokenAt ?? 0) - (first.spokenAt ?? 0));
    return { instances, isCut: instances.length < files.length };
  }

  /** What is known of it already, where it cannot be read now. */
  #read(object: ObjectFile, budget: CopyBudget): KnownInstance | undefined {
    const { file, stamp } = object;
    const before = this.#byFile.get(file);
    if (before?.stamp === stamp) return before;
    const read = instanceIn(object, budget);
    const known = read === undefined ? before : { ...read, stamp };
    if (known !== undefined) this.#byFile.set(file, known);
    return known;
  }
}

/** Lists the instances of an agent of a project under development, by the agent's id. */
export function developedInstances({ root, agents }: DevelopedProject): (agent: string) => Promise<LocalInstances> {
  const names = new InstanceNames();
  return (agent) => names.in(developedFolders(root, agents.find(({ id }) => id === agent)?.className ?? ""));
}

/** From a copy if its newest writes are in its log; without the budget for that, by its name alone. */
function instanceIn({ file, sizeBytes, hasLog }: ObjectFile, budget: CopyBudget) {
  if (!hasLog) return readObject(file, "as it is", readInstance);
  if (sizeBytes > budget.leftBytes) {
    const name = readAgentName(file);
    return name === undefined ? undefined : { name, ...NOTHING_KNOWN };
  }
  budget.leftBytes -= sizeBytes;
  return readCopyOfObject(file, readInstance);
}

const NOTHING_KNOWN: LastWords = { spokenAt: null, title: null, words: null };

function readInstance(database: ObjectDatabase): (LastWords & { readonly name: string }) | undefined {
  const name = identityIn(database)?.name;
  if (name === undefined) return undefined;
  return { name, ...readLastWords((query) => database.prepare(query).all()) };
}
