// Which providers have failed of late: one row per provider, in the agent's own database, so that neither the next turn nor a
// restart waits for a provider that is known to be down. A row says until when; nothing has to delete it.
import type { Sql } from "../../host/ports.ts";
import { TableSet, type TableDefinition } from "../../host/table-set.ts";
import { backoffMs } from "../../util/backoff.ts";
import { isObject, parseJson } from "../../util/json.ts";
import type { Candidate, RememberedProvider } from "./choose.ts";

/** Providers that are remembered; the one whose time ends first makes room. */
export const MAX_PROVIDERS = 16;
/** Models that a row names of its provider. */
const MAX_NAMES = 16;
/** How long a provider is passed over after its first failure; it doubles with each further one. */
export const DEFAULT_REMEMBER_MS = 60_000;
export const MAX_REMEMBER_MS = 15 * 60_000;

export const MEMORY_TABLES: readonly TableDefinition[] = [
  // Bound: MAX_PROVIDERS rows of names. Deleted: when a failed model answers again, or for a newer provider.
  {
    name: "cf_failing_providers",
    create: [
      `CREATE TABLE cf_failing_providers (
        provider TEXT PRIMARY KEY,
        until INTEGER NOT NULL,
        failures INTEGER NOT NULL,
        models TEXT NOT NULL
      ) WITHOUT ROWID`
    ]
  }
];

export interface FailedProvider {
  readonly nowMs: number;
  /** After a first failure. Zero: it is not remembered. */
  readonly rememberMs: number;
  /** What the provider asked for. */
  readonly askedForMs?: number | undefined;
}

/** What is remembered after one more failure. Pure. */
export function restAfterFailure(
  { name, provider }: Candidate,
  known: RememberedProvider | undefined,
  { nowMs, rememberMs, askedForMs = 0 }: FailedProvider
): RememberedProvider {
  const { failures = 0, failed = [], answered = [] } = known ?? {};
  const pauseMs = backoffMs(failures, { baseMs: rememberMs, maxMs: Math.max(rememberMs, MAX_REMEMBER_MS) });
  const until = nowMs + Math.max(pauseMs, Math.min(askedForMs, MAX_REMEMBER_MS));
  return {
    provider,
    until: Math.max(until, known?.until ?? 0),
    failures: failures + 1,
    failed: [...new Set([...failed, name])].slice(-MAX_NAMES),
    answered: answered.filter((one) => one !== name)
  };
}

/** What is remembered after one of its models has answered; undefined: nothing any more. Pure. */
export function afterAnswer(name: string, known: RememberedProvider): RememberedProvider | undefined {
  const failed = known.failed.filter((one) => one !== name);
  if (failed.length === 0) return undefined;
  return { ...known, failed, answered: [...new Set([...known.answered, name])].slice(-MAX_NAMES) };
}

export class ProviderMemory {
  readonly #table: TableSet;

  constructor(sql: Sql) {
    this.#table = new TableSet(sql, MEMORY_TABLES);
  }

  list(): RememberedProvider[] {
    return this.#table.all("SELECT provider, until, failures, models FROM cf_failing_providers").map((row) => {
      const models = parseJson(String(row["models"]));
      return {
        provider: String(row["provider"]),
        until: Number(row["until"]),
        failures: Number(row["failures"]),
        failed: namesIn(models, "failed"),
        answered: namesIn(models, "answered")
      };
    });
  }

  failed(candidate: Candidate, failure: FailedProvider): void {
    if (failure.rememberMs <= 0) return;
    const { provider, until, failures, failed, answered } = restAfterFailure(
      candidate,
      this.#find(candidate.provider),
      failure
    );
    this.#table.run(
      "INSERT OR REPLACE INTO cf_failing_providers (provider, until, failures, models) VALUES (?, ?, ?, ?)",
      ...[provider, until, failures, JSON.stringify({ failed, answered })]
    );
    this.#table.change(
      `DELETE FROM cf_failing_providers WHERE provider NOT IN
         (SELECT provider FROM cf_failing_providers ORDER BY until DESC LIMIT ${MAX_PROVIDERS})`
    );
  }

  /** Writes only where the provider had failed, and the model was not known to answer. */
  answered({ name, provider }: Candidate): void {
    const known = this.#find(provider);
    if (!known || known.answered.includes(name)) return;
    const left = afterAnswer(name, known);
    if (!left) {
      this.#table.change("DELETE FROM cf_failing_providers WHERE provider = ?", provider);
      return;
    }
    const models = JSON.stringify({ failed: left.failed, answered: left.answered });
    this.#table.change("UPDATE cf_failing_providers SET models = ? WHERE provider = ?", models, provider);
  }

  #find(provider: string): RememberedProvider | undefined {
    return this.list().find((one) => one.provider === provider);
  }
}

function namesIn(models: ReturnType<typeof parseJson>, field: string): string[] {
  const names: unknown = models.ok && isObject(models.value) ? models.value[field] : undefined;
  return Array.isArray(names) ? names.filter((name): name is string => typeof name === "string") : [];
}
