// The workspace against the bare statements and against `@cloudflare/shell`, on one SQLite in one process:
//   npm run build && npx node bench/workspace.ts [folder whose node_modules has @cloudflare/shell]
// Rounds are taken in turns, so that a busy machine disturbs all alike. A time is the sum of the best laps of all rounds: a
// lap of a hundred operations is short enough to run undisturbed once.
import { createRequire } from "node:module";
import { performance } from "node:perf_hooks";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { Workspace } from "everthink";
import { createWorkspaceTools } from "everthink/tools/workspace";

type Value = string | number | null | Uint8Array;

/** What all of them are asked to do. */
interface Contender {
  readonly name: string;
  write(path: string, content: string): unknown;
  read(path: string): unknown;
  list(path: string): unknown;
  glob(pattern: string): unknown;
  grep?(word: string): unknown;
  bash?(script: string): unknown;
}

interface Files {
  writeFile(path: string, content: string): Promise<void>;
  readFile(path: string): Promise<string | null>;
  readDir(path: string, options?: { limit?: number }): Promise<unknown[]>;
  glob(pattern: string): Promise<{ path: string; type: string }[]>;
}

const ROUNDS = 40;
const LAP = 100;
const SMALL = "x".repeat(200);

/** `ctx.storage.sql`, as far as it is used. */
function storage() {
  const database = new DatabaseSync(":memory:");
  const statements = new Map<string, ReturnType<DatabaseSync["prepare"]>>();
  return {
    exec(query: string, ...values: Value[]) {
      let statement = statements.get(query);
      if (!statement) statements.set(query, (statement = database.prepare(query)));
      const rows = statement.all(...values) as Record<string, Value>[];
      return {
        toArray: () => rows,
        one: () => rows[0],
        [Symbol.iterator]: () => rows[Symbol.iterator](),
        rowsWritten: 0,
        columnNames: []
      };
    },
    databaseSize: 0
  };
}

function bare(): Contender {
  const sql = storage();
  sql.exec("CREATE TABLE files (path TEXT PRIMARY KEY, parent TEXT NOT NULL, content TEXT)");
  sql.exec("CREATE INDEX children ON files (parent)");
  const parent = (path: string) => path.slice(0, path.lastIndexOf("/"));
  return {
    name: "bare SQL",
    write: (path, content) =>
      sql.exec("INSERT OR REPLACE INTO files VALUES (?, ?, ?)", path, parent(path), content).toArray(),
    read: (path) => sql.exec("SELECT content FROM files WHERE path = ?", path).toArray(),
    list: (path) =>
      sql.exec("SELECT path, length(content) AS size FROM files WHERE parent = ? ORDER BY path", path).toArray(),
    glob: () =>
      sql
        .exec("SELECT path, length(content) AS size FROM files ORDER BY path")
        .toArray()
        .filter(({ path }) => String(path).endsWith(".ts")),
    grep: (word) =>
      sql
        .exec("SELECT content FROM files")
        .toArray()
        .flatMap(({ content }) =>
          String(content)
            .split("\n")
            .filter((line) => line.includes(word))
        )
  };
}

function over(name: string, files: Files, extras: Pick<Contender, "grep" | "bash">): Contender {
  return {
    name,
    write: (path, content) => files.writeFile(path, content),
    read: (path) => files.readFile(path),
    list: (path) => files.readDir(path, { limit: 20_000 }),
    glob: (pattern) => files.glob(pattern),
    ...extras
  };
}

function ours(): Contender {
  const files = new Workspace({ sql: storage() });
  const tools = createWorkspaceTools(files);
  const call = (tool: "grep" | "bash", input: object) =>
    // Only these two are called, and both run on the server.
    (tools[tool] as { execute(input: object, options: object): Promise<unknown> }).execute(input, {
      toolCallId: "c",
      messages: []
    });
  return over("everthink", files, {
    grep: (word) => call("grep", { query: word, caseSensitive: true }),
    bash: (script) => call("bash", { script })
  });
}

async function shell(folder: string | undefined): Promise<(() => Contender) | undefined> {
  try {
    const from = createRequire(
      pathToFileURL(`${folder ?? new URL("opponents/newest", import.meta.url).pathname}/package.json`)
    );
    const module = (await import(pathToFileURL(from.resolve("@cloudflare/shell")).href)) as {
      Workspace: new (options: object) => Files;
    };
    return () => over("@cloudflare/shell", new module.Workspace({ sql: storage(), name: () => "bench" }), {});
  } catch (error) {
    console.warn("@cloudflare/shell is not measured:", error instanceof Error ? error.message : error);
    return undefined;
  }
}

/** Called between two laps of a task. */
type Lap = () => void;

interface Task {
  readonly name: string;
  prepare?(one: Contender): Promise<void>;
  run(one: Contender, lap: Lap): Promise<void>;
  canRun?(one: Contender): boolean;
  /** What was prepared serves every round. */
  readonly changesNothing?: true;
}

const pathOf = (index: number) => `/src/dir${index % 20}/file${index}.${index % 2 ? "ts" : "md"}`;

async function inLaps(count: number, lap: Lap | undefined, operate: (path: string) => unknown): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    if (index > 0 && index % LAP === 0) lap?.();
    await operate(pathOf(index));
  }
}

const fill = (count: number) => async (one: Contender, lap?: Lap) =>
  await inLaps(count, lap, (path) => one.write(path, SMALL));
const tenMegabytes = async (one: Contender) => {
  const text = `${"a line of text that holds nothing\n".repeat(3_000)}needle\n`;
  for (let index = 0; index < 100; index += 1) await one.write(`/text/${index}.txt`, text);
};

const TASKS: readonly Task[] = [
  { name: "1,000 small writes", run: fill(1_000) },
  { name: "1,000 overwrites", prepare: fill(1_000), run: fill(1_000) },
  {
    name: "1,000 reads",
    changesNothing: true,
    prepare: fill(1_000),
    run: async (one, lap) => await inLaps(1_000, lap, (path) => one.read(path))
  },
  {
    name: "list 500 entries",
    changesNothing: true,
    prepare: fill(10_000),
    run: async (one) => void (await one.list("/src/dir3"))
  },
  {
    name: "glob over 10,000 files",
    changesNothing: true,
    prepare: fill(10_000),
    run: async (one) => void (await one.glob("/src/**/*.ts"))
  },
  {
    name: "grep over 10 MB",
    changesNothing: true,
    prepare: tenMegabytes,
    run: async (one) => void (await one.grep?.("needle")),
    canRun: (one) => one.grep !== undefined
  },
  {
    name: "bash echo, 10 files",
    changesNothing: true,
    prepare: fill(10),
    run: async (one) => void (await one.bash?.("echo hi")),
    canRun: (one) => one.bash !== undefined
  },
  {
    name: "bash echo, 1,000 files",
    changesNothing: true,
    prepare: fill(1_000),
    run: async (one) => void (await one.bash?.("echo hi")),
    canRun: (one) => one.bash !== undefined
  }
];

const makers = [bare, ours, await shell(process.argv[2])].filter((make) => make !== undefined);
for (const task of TASKS) {
  const best = new Map<string, number[]>();
  const kept = new Map<() => Contender, Contender>();
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const make of makers) {
      const one = kept.get(make) ?? make();
      if (task.canRun && !task.canRun(one)) continue;
      if (!kept.has(make)) await task.prepare?.(one);
      if (task.changesNothing) kept.set(make, one);
      const times = [performance.now()];
      await task.run(one, () => times.push(performance.now()));
      times.push(performance.now());
      const laps = times.slice(1).map((time, index) => time - (times[index] ?? 0));
      const before = best.get(one.name);
      best.set(
        one.name,
        laps.map((ms, index) => Math.min(ms, before?.[index] ?? Infinity))
      );
    }
  }
  const shown = [...best].map(([name, laps]) => `${name} ${laps.reduce((sum, ms) => sum + ms, 0).toFixed(2)} ms`);
  console.log(`${task.name.padEnd(26)} ${shown.join("   ")}`);
}
