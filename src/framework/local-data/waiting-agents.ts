// Which agents of this machine wait for a person, found in their files: no agent is started, and a list costs two looks at the
// file system for each one that has not changed. Sub-agents are found as roots are. What waits is asked of the agents that
// are listed here; their rows are hints.
import { setImmediate } from "node:timers/promises";
import { readWaitingRows, type WaitingRow } from "../../features/approvals/waiting-rows.ts";
import { SUB_PREFIX, type AgentPath } from "../../host/path.ts";
import { kebabCase } from "../../util/kebab.ts";
import { identityIn, type StoredIdentity } from "./agent-name.ts";
import {
  developedFolders,
  objectFiles,
  readCopyOfObject,
  readObject,
  type ObjectDatabase,
  type ObjectFile
} from "./object-files.ts";

/** Files that are read for one list; the others are read for the next ones. */
const MAX_READ = 2_000;
/** Copied for one list at most: of objects in use, whose newest writes are in their logs. */
const MAX_COPIED_BYTES = 64 * 1024 * 1024;
/** Files that are known; beyond it the oldest are left out. */
const MAX_OBJECTS = 50_000;
/** Files after which other work of the process has its turn. */
const BATCH = 100;
/** Classes of which a parent has children of one name. */
const MAX_CLASSES = 10;

/** A class of agents with roots, and where its objects are. */
export interface StoredClass {
  /** As in its address. */
  readonly agent: string;
  readonly folders: () => readonly string[];
}

export interface WaitingAgent {
  /** `<agent>/<instance>`, and for a sub-agent what follows it. */
  readonly at: string;
  /** Another one after each write of the agent; null: not known. */
  readonly stamp: string | null;
  /** Oldest first. */
  readonly waiting: readonly WaitingRow[];
}

export interface WaitingAgents {
  /** The one that has waited longest first. */
  readonly agents: readonly WaitingAgent[];
  /** Objects that could not be looked into yet. */
  readonly unread: number;
}

interface KnownObject extends ObjectFile {
  /** Undefined: it is no agent's. */
  readonly identity: StoredIdentity | undefined;
  readonly waiting: readonly WaitingRow[];
}

interface ReadingBudget {
  files: number;
  bytes: number;
}

export class LocalAgents {
  readonly #classes: readonly StoredClass[];
  #known: ReadonlyMap<string, KnownObject> = new Map();
  /** Classes of sub-agents that waited, by file: they never change, and their parents need not be read again. */
  readonly #childClasses = new Map<string, readonly string[]>();

  constructor(classes: readonly StoredClass[]) {
    this.#classes = classes;
  }

  async waiting(): Promise<WaitingAgents> {
    const budget = { files: MAX_READ, bytes: MAX_COPIED_BYTES };
    const known = new Map<string, KnownObject>();
    // Of files that are gone as well: few agents wait, and a name is short.
    if (this.#childClasses.size > MAX_OBJECTS) this.#childClasses.clear();
    const agents: WaitingAgent[] = [];
    let unread = 0;
    for (const { agent, folders } of this.#classes) {
      const files = folders()
        .flatMap(objectFiles)
        .sort((first, second) => second.changedAt - first.changedAt);
      unread += Math.max(0, files.length - MAX_OBJECTS);
      const objects = await this.#read(files.slice(0, MAX_OBJECTS), budget);
      unread += objects.unread;
      for (const object of objects.known) known.set(object.file, object);
      agents.push(...objects.known.flatMap((object) => this.#addressed(agent, object, objects.known)));
    }
    this.#known = known;
    return { agents: agents.sort((first, second) => oldestOf(first) - oldestOf(second)), unread };
  }

  async #read(files: readonly ObjectFile[], budget: ReadingBudget): Promise<{ known: KnownObject[]; unread: number }> {
    const known: KnownObject[] = [];
    let unread = 0;
    // One that was never read comes before one that was: objects that change all the time do not keep others out.
    const inOrder = [...files].sort((first, second) => this.#turnOf(first) - this.#turnOf(second));
    for (const [index, object] of inOrder.entries()) {
      if (index % BATCH === BATCH - 1) await setImmediate();
      const before = this.#known.get(object.file);
      const isSame = before?.stamp === object.stamp;
      const now = isSame ? before : readKnown(object, budget);
      if (now === undefined) unread += 1;
      const kept = now ?? before;
      if (kept !== undefined) known.push(kept);
    }
    return { known, unread };
  }

  /** Empty: nothing waits there, or its parent does not know it any more. */
  #addressed(agent: string, object: KnownObject, others: readonly KnownObject[]): WaitingAgent[] {
    const { file, identity, waiting, stamp } = object;
    if (identity === undefined || waiting.length === 0) return [];
    const { name, parentPath } = identity;
    const [root, ...between] = parentPath;
    if (root === undefined) return [{ at: addressOf(agent, name, []), stamp, waiting }];
    const classes = this.#childClasses.get(file) ?? classesOf(object, identity, others);
    if (classes.length > 0) this.#childClasses.set(file, classes);
    return classes.map((className) => {
      return { at: addressOf(agent, root.name, [...between, { className, name }]), stamp, waiting };
    });
  }

  #turnOf({ file }: ObjectFile): number {
    return this.#known.has(file) ? 1 : 0;
  }
}

/** Of a project under development. */
export function developedAgents(
  root: string,
  agents: readonly { readonly id: string; readonly className: string }[]
): LocalAgents {
  return new LocalAgents(
    agents.map(({ id, className }) => ({ agent: id, folders: () => developedFolders(root, className) }))
  );
}

/** Undefined: it has to wait for the next list. */
function readKnown(object: ObjectFile, budget: ReadingBudget): KnownObject | undefined {
  if (budget.files <= 0) return undefined;
  const isCopied = object.hasLog;
  if (isCopied && object.sizeBytes > budget.bytes) return undefined;
  budget.files -= 1;
  if (isCopied) budget.bytes -= object.sizeBytes;
  const read = (database: ObjectDatabase) => ({
    identity: identityIn(database),
    waiting: readWaitingRows((query) => database.prepare(query).all())
  });
  const stored = isCopied ? readCopyOfObject(object.file, read) : readObject(object.file, "as it is", read);
  return { ...object, ...(stored ?? { identity: undefined, waiting: [] }) };
}

/** An object does not store its own class: its parent knows it. */
function classesOf({ id }: ObjectFile, { name, parentPath }: StoredIdentity, others: readonly KnownObject[]): string[] {
  const grandparents = JSON.stringify(parentPath.slice(0, -1));
  const parents = others.filter(
    (other) =>
      other.id === id &&
      other.identity?.name === parentPath.at(-1)?.name &&
      JSON.stringify(other.identity?.parentPath) === grandparents
  );
  const read = (database: ObjectDatabase) =>
    database.prepare(`SELECT class_name FROM cf_children WHERE name = ? LIMIT ${MAX_CLASSES}`).all(name);
  const rows = parents.flatMap(({ file, hasLog }) =>
    hasLog ? (readCopyOfObject(file, read) ?? []) : (readObject(file, "as it is", read) ?? [])
  );
  return [...new Set(rows.flatMap(({ class_name: className }) => (typeof className === "string" ? [className] : [])))];
}

function addressOf(agent: string, root: string, steps: AgentPath): string {
  const below = steps.map(
    ({ className, name }) => `/${SUB_PREFIX}/${kebabCase(className)}/${encodeURIComponent(name)}`
  );
  return `${agent}/${encodeURIComponent(root)}${below.join("")}`;
}

function oldestOf({ waiting }: WaitingAgent): number {
  return waiting[0]?.askedAt ?? 0;
}
