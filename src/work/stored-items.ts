// Between rows and items of one kind: payloads are encoded and decoded here, and what cannot be read is set aside.
import type { Quarantine } from "../host/quarantine.ts";
import { parseJson } from "../util/json.ts";
import type { Result } from "../util/result.ts";
import type { WorkItem, WorkKind, WorkView } from "./kind.ts";
import { stateOf, type WorkRow, type WorkTable } from "./work-table.ts";

export class StoredItems<Payload> {
  readonly #kind: WorkKind<Payload>;
  readonly #table: WorkTable;
  readonly #quarantine: Quarantine;

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
      this.#quarantine({ table: "cf_work", key: `${row.kind}:${row.key}`, body: row.payload, error });
      this.#table.remove(row.key);
      const stored = parseJson(row.payload);
      this.#kind.unreadable?.({ key: row.key, stored: stored.ok ? stored.value : undefined, error });
    });
  }

  /** Undefined: it has no payload any more, or cannot be read. One that is not over and cannot be read is set aside. */
  view(row: WorkRow): WorkView<Payload> | undefined {
    const decoded = this.#decode(row);
    if (!decoded.ok) {
      if (row.settledAt === null) this.#setAside(row, decoded.error);
      return undefined;
    }
    const { lane, dueAt, settledAt, error } = row;
    return { ...itemOf(row, decoded.value), state: stateOf(row), lane, dueAt, settledAt, error };
  }

  #decode({ payload }: WorkRow): Result<Payload, string> {
    const stored = parseJson(payload);
    return stored.ok ? this.#kind.codec.decode(stored.value) : stored;
  }
}

function itemOf<Payload>({ key, createdAt, claim, starts, failures }: WorkRow, payload: Payload): WorkItem<Payload> {
  return { key, payload, createdAt, claim, starts, failures };
}
