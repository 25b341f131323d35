// Between rows and items of one kind: payloads are encoded and decoded here, what cannot be read is set aside, and what is
// over is forgotten after a time.
import type { Quarantine } from "../host/quarantine.ts";
import { parseJson } from "../util/json.ts";
import { err, type Result } from "../util/result.ts";
import type { Listed, WorkItem, WorkKind, WorkView } from "./kind.ts";
import { damageOf, stateOf, type WorkRow, type WorkTable } from "./work-table.ts";

/** How often settled items that are too old are looked for, while there is other work. */
const SWEEP_MS = 3_600_000;

export class StoredItems<Payload> {
  readonly #kind: WorkKind<Payload>;
  readonly #table: WorkTable;
  readonly #quarantine: Quarantine;
  #sweptAt = -Infinity;

  constructor(kind: WorkKind<Payload>, { table, quarantine }: { table: WorkTable; quarantine: Quarantine }) {
    this.#kind = kind;
    this.#table = table;
    this.#quarantine = quarantine;
  }

  encode(payload: Payload): string {
    return JSON.stringify(this.#kind.codec.encode(payload));
  }

  /** Undefined: it cannot be read, and is set aside. */
  item(row: WorkRow): WorkItem<Payload> | undefined {
    const decoded = this.#decode(row);
    if (decoded.ok) return itemOf(row, decoded.value);
    this.#setAside(row, decoded.error);
    return undefined;
  }

  #setAside(row: WorkRow, error: string): void {
    this.#table.transaction(() => {
      this.#quarantine({ table: "cf_work", key: `${row.kind}:${row.key}`, body: String(row.payload), error });
      this.#table.remove(row.key);
      const stored = parseJson(String(row.payload));
      this.#kind.unreadable?.({ key: row.key, lane: row.lane, stored: stored.ok ? stored.value : undefined, error });
    });
  }

  /** Undefined: it has no payload any more, or cannot be read. One that is not over and cannot be read is set aside. */
  view(row: WorkRow): WorkView<Payload> | undefined {
    const decoded = this.#decode(row);
    if (!decoded.ok) {
      if (row.settledAt === null) this.#setAside(row, decoded.error);
      return undefined;
    }
    const { dueAt, settledAt, error } = row;
    return { ...itemOf(row, decoded.value), state: stateOf(row), dueAt, settledAt, error };
  }

  /** In the order in which they were added, one body in memory at a time; without those that have no payload any more. */
  *views({ states, lane }: Listed = {}): Generator<WorkView<Payload>> {
    const isOpen = states !== undefined && !states.some((state) => state === "settled" || state === "dead");
    const after = (id: number) => this.#table.after(id, { lane, isOpen });
    for (let row = after(0); row; row = after(row.id)) {
      const view = states === undefined || states.includes(stateOf(row)) ? this.view(row) : undefined;
      if (view) yield view;
    }
  }

  /** Deletes settled items that no caller asks for any more. */
  sweep(now: number): void {
    const { retentionMs, deadLetters } = this.#kind;
    if (retentionMs === 0 || now < this.#sweptAt + SWEEP_MS) return;
    this.#sweptAt = now;
    this.#table.sweep(now - retentionMs, deadLetters !== undefined);
  }

  /** Rows that would never come to rest, or count as over. */
  setAsideDamaged(): void {
    for (const row of this.#table.damaged()) this.#setAside(row, damageOf(row) ?? "it is damaged");
  }

  #decode(row: WorkRow): Result<Payload, string> {
    const damage = damageOf(row);
    if (damage) return err(damage);
    const stored = parseJson(row.payload);
    return stored.ok ? this.#kind.codec.decode(stored.value) : stored;
  }
}

function itemOf<Payload>(row: WorkRow, payload: Payload): WorkItem<Payload> {
  const { key, lane, createdAt, claim, starts, failures, troubledSince } = row;
  return { key, lane, payload, createdAt, claim, starts, failures, troubledSince };
}
