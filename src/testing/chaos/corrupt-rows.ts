// Corrupt rows: the process dies somewhere, one stored value becomes garbage, the process starts. The object must boot,
// answer a new question and come to rest; a message may be missing only if an event said that a row was bad.
import { subscribe } from "../../observe/index.ts";
import { errorMessage } from "../../util/errors.ts";
import type { SqlValue } from "../../host/ports.ts";
import type { ModeResult } from "./chaos.ts";
import type { ChaosCheck, ChaosDifference } from "./checks.ts";
import { spread, type Disturbance } from "./disturbance.ts";
import { EndOfConversation } from "./errors.ts";
import { normalMessages } from "./normal-form.ts";
import { playRun, type PlayedRun, type Scenario } from "./run.ts";
import { ChaosSession } from "./session.ts";
import type { Stage } from "./stage.ts";
import type { ObjectUnderTest } from "./stored-turns.ts";

/** Deaths whose databases are corrupted, and cells tried over all of them. */
const DEATHS = 24;
const DEFAULT_CELLS = 400;
const GARBAGE = '{"broken';
const REPORTING_EVENTS: ReadonlySet<string> = new Set(["storage:row:quarantined", "chat:onstart:degraded"]);

export interface CorruptionContext {
  readonly scenario: Scenario;
  readonly baseline: PlayedRun;
  readonly points: number | undefined;
  readonly share: { readonly index: number; readonly of: number };
  onRun(differences: readonly ChaosDifference[]): void;
}

interface Cell {
  readonly table: string;
  readonly column: string;
  readonly where: string;
  readonly key: readonly SqlValue[];
}

/** A death, what can be corrupted in what it leaves, and what becomes of it when nothing is. */
interface CorruptedDeath {
  readonly write: number;
  readonly cells: readonly Cell[];
  readonly survivors: readonly string[];
  /** Such as that of a scheduled task, or of a question that waits for a human until it expires. */
  readonly hasAlarm: boolean;
}

interface CorruptionPoint {
  readonly death: CorruptedDeath;
  readonly cell: Cell;
}

export async function corruptRows(context: CorruptionContext): Promise<ModeResult> {
  const { scenario, points = DEFAULT_CELLS, share } = context;
  const deaths = await findDeaths(context);
  const all = deaths.flatMap((death) => death.cells.map((cell): CorruptionPoint => ({ death, cell })));
  const chosen = spread(all, points).filter((_, index) => index % share.of === share.index);
  const differences: ChaosDifference[] = [];
  for (const point of chosen) {
    const found = await corruptOne(scenario, point);
    differences.push(...found);
    context.onRun(found);
  }
  return { mode: "poison-row", points: chosen.length, deaths: chosen.length, interrupted: {}, differences };
}

async function findDeaths({ scenario, baseline, points }: CorruptionContext): Promise<CorruptedDeath[]> {
  const writes = Array.from({ length: baseline.counts.writes }, (_, index) => index + 1);
  const found: CorruptedDeath[] = [];
  for (const write of spread(writes, Math.min(DEATHS, points ?? DEATHS))) {
    const left: Omit<CorruptedDeath, "hasAlarm">[] = [];
    const afterwards = async (stage: Stage) => {
      const cells = textCells(stage.object);
      await answerAnother(stage);
      left.push({ write, cells, survivors: await contents(stage) });
    };
    const { hasAlarm } = await playRun(scenario, { ...dieThenEnd(write), afterwards });
    found.push(...left.map((one) => ({ ...one, hasAlarm })));
  }
  return found;
}

async function corruptOne(scenario: Scenario, { death, cell }: CorruptionPoint): Promise<ChaosDifference[]> {
  const differences: ChaosDifference[] = [];
  const point = `write ${death.write}, ${cell.table}.${cell.column} of ${JSON.stringify(cell.key)}`;
  const differ = (check: ChaosCheck, expected: string, actual: string) =>
    void differences.push({ mode: "poison-row", point, check, expected, actual });
  const events: string[] = [];
  const stop = subscribe("lifecycle", ({ type }) => void events.push(type));
  const afterwards = async (stage: Stage) => {
    corrupt(stage.object, cell);
    try {
      await answerAnother(stage);
    } catch (error) {
      differ("boots", "the object boots and answers another question", errorMessage(error));
      return;
    }
    const stored = new Set(await contents(stage));
    const lost = death.survivors.filter((content) => !stored.has(content));
    if (lost.length > 0 && !events.some((type) => REPORTING_EVENTS.has(type))) {
      differ("silent loss", "no message is lost, or an event reports a bad row", `lost ${lost.join(", ")}`);
    }
  };
  try {
    const run = await playRun(scenario, { ...dieThenEnd(death.write), afterwards });
    if (run.openTurns > 0) differ("rests", "no turn is open in the end", `${run.openTurns} open`);
    if (run.hasAlarm && !death.hasAlarm) differ("rests", "no alarm in the end", "an alarm is set");
  } finally {
    stop();
  }
  return differences;
}

/** By content: a repair may draw an id, and every id that the server mints after it is another one. */
async function contents(stage: Stage): Promise<string[]> {
  return normalMessages(await stage.stored()).map((message) => JSON.stringify(message));
}

async function answerAnother(stage: Stage): Promise<void> {
  const question = stage.firstQuestion;
  if (question === undefined) await stage.settle();
  else await new ChaosSession(stage, "after-poison").ask(question);
}

function dieThenEnd(write: number): Disturbance {
  return {
    mode: "poison-row",
    point: `write ${write}`,
    begin: ({ object }) => object.host.crashAfterWrite(write),
    died: ({ deaths }) => {
      if (deaths === 1) throw new EndOfConversation();
    }
  };
}

function textCells(object: ObjectUnderTest): Cell[] {
  const query = <Row extends object>(text: string, ...values: SqlValue[]) =>
    object.host.sql<Row>(object.agent, object.name, text, ...values);
  const tables = query<{ name: string }>(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE '_cf_%'"
  );
  return tables.flatMap(({ name: table }) => {
    const columns = query<{ name: string; pk: number }>(`PRAGMA table_info("${table}")`);
    const named = columns.filter(({ pk }) => pk > 0).map(({ name }) => name);
    const keys = named.length > 0 ? named : ["rowid"];
    const where = keys.map((key) => `"${key}" = ?`).join(" AND ");
    const rows = query<Record<string, SqlValue>>(
      `SELECT ${keys.map((key) => `"${key}" AS "key ${key}"`).join(", ")}, * FROM "${table}"`
    );
    return rows.flatMap((row) =>
      columns
        .filter(({ name, pk }) => pk === 0 && typeof row[name] === "string")
        .map(({ name: column }) => ({ table, column, where, key: keys.map((key) => row[`key ${key}`] ?? null) }))
    );
  });
}

function corrupt({ host, agent, name }: ObjectUnderTest, { table, column, where, key }: Cell): void {
  host.sql(agent, name, `UPDATE OR IGNORE "${table}" SET "${column}" = ? WHERE ${where}`, GARBAGE, ...key);
}
