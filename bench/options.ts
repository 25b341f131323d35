// What the command line asks for.
import { parseArgs } from "node:util";
import { type Contender, CONTENDERS } from "./contenders.ts";
import { SCENARIOS } from "./scenarios/index.ts";
import type { Scenario } from "./scenarios/scenario.ts";

const DEFAULT_ROUNDS = 15;
const QUICK_ROUNDS = 3;

export const USAGE = `node bench/run.ts [options]
  --rounds <n>          rounds (default ${DEFAULT_ROUNDS})
  --quick               ${QUICK_ROUNDS} rounds, without the slowest scenarios
  --only <a,b>          these scenarios: ${SCENARIOS.map(({ name }) => name).join(", ")}
  --contenders <a,b>    these contenders: ${CONTENDERS.map(({ name }) => name).join(", ")}; the baseline always takes part
  --aims                compare everthink with its aims
  --json <file>         write everything that was measured to a file
  --write <file>        replace the measured part of a document
  --no-build            take dist/ as it is`;

export interface Options {
  rounds: number;
  isQuick: boolean;
  scenarios: readonly Scenario[];
  contenders: readonly Contender[];
  showAims: boolean;
  jsonFile: string | undefined;
  document: string | undefined;
  mayBuild: boolean;
}

export function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: "string" },
      quick: { type: "boolean", default: false },
      only: { type: "string" },
      contenders: { type: "string" },
      aims: { type: "boolean", default: false },
      json: { type: "string" },
      write: { type: "string" },
      "no-build": { type: "boolean", default: false }
    }
  });
  const rounds = Number(values.rounds ?? (values.quick ? QUICK_ROUNDS : DEFAULT_ROUNDS));
  if (!Number.isInteger(rounds) || rounds < 1) throw new Error("--rounds must be a whole number from 1 on.");
  const scenarios = values.quick && values.only === undefined ? SCENARIOS.filter(({ isSlow }) => !isSlow) : SCENARIOS;
  return {
    rounds,
    isQuick: values.quick,
    scenarios: chosen(scenarios, values.only),
    contenders: chosen(CONTENDERS, values.contenders && `baseline,${values.contenders}`),
    showAims: values.aims,
    jsonFile: values.json,
    document: values.write,
    mayBuild: !values["no-build"]
  };
}

/** A name stands for itself and for everything that begins with it and a hyphen. */
function chosen<Item extends { name: string }>(items: readonly Item[], list: string | undefined): readonly Item[] {
  if (list === undefined) return items;
  const names = list.split(",").map((name) => name.trim());
  const matches = (item: Item, name: string) => item.name === name || item.name.startsWith(`${name}-`);
  const unknown = names.find((name) => !items.some((item) => matches(item, name)));
  if (unknown !== undefined)
    throw new Error(`There is no "${unknown}". There is: ${items.map(({ name }) => name).join(", ")}.`);
  return items.filter((item) => names.some((name) => matches(item, name)));
}
