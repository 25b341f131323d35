// The direct children of an agent: the registry, their facets, and the way down to descendants. A child exists exactly
// as long as its registry row; a facet is only ever reached through `stub`.
import type { Facets, FacetStub, Sql } from "../../host/ports.ts";
import { TableSet, type TableDefinition } from "../../host/table-set.ts";
import { kebabCase } from "../../util/kebab.ts";
import type { ConnectionAttachment } from "../../host/connection.ts";
import { isCold, UNKNOWN_CHILD, type FacetIdentity, type InternalCall, type InternalEnvelope } from "./internal.ts";
import { callAgent, type AgentStub } from "./agent-call.ts";
import {
  forgetSchedulesOf,
  forgetTakenOverChild,
  isTakenOverChild,
  undeliveredSchedules
} from "./taken-over-children.ts";
import { SUB_PREFIX, type AgentPath, type AgentPathStep } from "../../host/path.ts";
import { ReservedClassNameError, subAgentErrors, SubAgentNameError, TREE_DEPTH_LIMIT } from "./sub-agent-errors.ts";

export interface SubAgentInfo {
  className: string;
  name: string;
  /** Milliseconds since the epoch. */
  createdAt: number;
}

export interface ChildrenInit {
  sql: Sql;
  facets: Facets;
  now: () => number;
  /** The agent itself, root first. */
  selfPath: () => AgentPath;
  /** Connections to tell a child about when it starts. */
  connectionsBelow: (child: AgentPathStep) => ConnectionAttachment[];
}

export const CHILDREN_TABLES: readonly TableDefinition[] = [
  // Bound: one row per child. Deleted: with the child.
  {
    name: "cf_children",
    create: [
      `CREATE TABLE cf_children (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        class_name TEXT NOT NULL,
        name TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        UNIQUE (class_name, name)
      )`
    ]
  }
];

export class Children {
  readonly #init: ChildrenInit;
  readonly #table: TableSet;

  constructor(init: ChildrenInit) {
    this.#init = init;
    this.#table = new TableSet(init.sql, CHILDREN_TABLES);
  }

  /** Gets or creates the child and starts it. A new child that fails to start leaves nothing behind. */
  async spawn(child: AgentPathStep): Promise<FacetStub> {
    validateChild(child, this.#init.selfPath());
    const stub = this.stub(child);
    const isNew =
      this.#table.run(
        "INSERT INTO cf_children (class_name, name, created_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        child.className,
        child.name,
        this.#init.now()
      ).changed === 1;
    try {
      await this.#call(child, { to: [], call: { op: "start" } });
    } catch (error) {
      if (isNew) this.remove(child);
      throw error;
    }
    return stub;
  }

  /** Does not create: the row may be missing. */
  stub(child: AgentPathStep): FacetStub {
    const identity = (): FacetIdentity => ({
      ...child,
      parentPath: this.#init.selfPath()
    });
    return this.#init.facets.get(this.#key(child), child.className, () => ({ ...identity() }));
  }

  /** Carries a call down one step, or says that the step is unknown. */
  async pass(to: AgentPath, call: InternalCall): Promise<unknown> {
    const [child, ...rest] = to;
    if (!child || !this.has(child)) return UNKNOWN_CHILD;
    return this.#call(child, { to: rest, call });
  }

  async #call(child: AgentPathStep, envelope: InternalEnvelope): Promise<unknown> {
    // Every agent class has `internalCall`; a facet's stub is typed by name only.
    const stub = this.stub(child) as FacetStub & AgentStub;
    await this.#handDown(child, stub);
    const withConnections = () => ({ ...envelope, connections: this.#init.connectionsBelow(child) });
    // A request's body cannot be sent twice.
    if (envelope.call.op === "fetch") return callAgent(stub, withConnections());
    const answer = await callAgent(stub, envelope);
    return isCold(answer) ? callAgent(stub, withConnections()) : answer;
  }

  /** Before anything else reaches a child of the original, it gets the schedules that were kept here for it. */
  async #handDown(child: AgentPathStep, stub: FacetStub & AgentStub): Promise<void> {
    const { sql } = this.#init;
    for (const { path, schedules } of undeliveredSchedules(sql, child)) {
      const envelope: InternalEnvelope = { to: path.slice(1), call: { op: "adopt", schedules } };
      const answer = await callAgent(stub, envelope);
      if (isCold(answer)) {
        await callAgent(stub, { ...envelope, connections: this.#init.connectionsBelow(child) });
      }
      forgetSchedulesOf(sql, path);
    }
  }

  /** A child of the original keeps the key under which its storage is found, for life. */
  #key(child: AgentPathStep): string {
    return isTakenOverChild(this.#init.sql, child) ? `${child.className}\0${child.name}` : childKey(child);
  }

  has(child: AgentPathStep): boolean {
    return (
      this.#table.one("SELECT 1 FROM cf_children WHERE class_name = ? AND name = ?", child.className, child.name) !==
      undefined
    );
  }

  list(className?: string): SubAgentInfo[] {
    return this.#table.all<SubAgentInfo>(
      `SELECT class_name AS className, name, created_at AS createdAt FROM cf_children
       WHERE ?1 IS NULL OR class_name = ?1 ORDER BY seq`,
      className ?? null
    );
  }

  abort(child: AgentPathStep, reason: Error): void {
    this.#init.facets.abort(this.#key(child), reason);
  }

  /** Wipes the child with its descendants. Safe to repeat, and for a child that never was. */
  remove(child: AgentPathStep): void {
    // Storage first: with the row gone, nothing would show that there is storage left to delete.
    this.#init.facets.delete(this.#key(child));
    forgetTakenOverChild(this.#init.sql, child);
    this.#table.change("DELETE FROM cf_children WHERE class_name = ? AND name = ?", child.className, child.name);
  }
}

export function validateChild(child: AgentPathStep, parentPath: AgentPath): void {
  if (kebabCase(child.className) === SUB_PREFIX) throw new ReservedClassNameError(child.className);
  if (child.name.includes("\0")) throw new SubAgentNameError();
  if (parentPath.length >= TREE_DEPTH_LIMIT) throw subAgentErrors.SubAgentDepthError(child.className);
}

/** Class names are identifiers, so the first colon always ends one. */
function childKey(child: AgentPathStep): string {
  return `${child.className}:${child.name}`;
}
