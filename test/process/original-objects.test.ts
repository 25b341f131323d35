// Objects that the published packages of the original wrote are refused, whole and in words, and are still theirs.
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { bundleContender } from "../../bench/bundle.ts";
import { startWorker } from "./workerd-process.ts";

const OBJECTS = ["Counter", "Chat"];
const scratch = mkdtempSync(join(tmpdir(), "everthink-original-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const successor = new URL("./fixtures/successor-worker.ts", import.meta.url);
const opponents = new URL("../../bench/opponents/", import.meta.url);

/** A worker of published packages. */
async function originalWorker(source: URL, name: string): Promise<string> {
  const file = join(scratch, `${name}.js`);
  const entry = fileURLToPath(source);
  await bundleContender({ name: "original-newest", label: name, entry, isOpponent: true }, file);
  return file;
}

/** Runs a worker on the data, asks each object once, and ends it. */
async function visit(entry: string | URL, dataDirectory: string, init?: RequestInit & { objects?: readonly string[] }) {
  const { objects = OBJECTS } = init ?? {};
  const server = await startWorker({ entry, objects, dataDirectory });
  const answers: { status: number; body: string }[] = [];
  for (const object of objects) {
    const response = await fetch(`${server.url}/agents/${object.toLowerCase()}/a`, init);
    answers.push({ status: response.status, body: await response.text() });
  }
  await server.stop();
  return { answers, log: server.log };
}

/** Every row of every table of every object. */
function contents(dataDirectory: string): Record<string, unknown> {
  const files = readdirSync(dataDirectory, { recursive: true, encoding: "utf8" });
  const databases = files.filter((name) => /[0-9a-f]{64}\.sqlite$/.test(name));
  return Object.fromEntries(
    databases.map((name) => {
      const database = new DatabaseSync(join(dataDirectory, name));
      const tables = database.prepare("SELECT name, sql FROM sqlite_master ORDER BY type, name").all();
      const rows = tables
        .filter(({ sql }) => String(sql).startsWith("CREATE TABLE"))
        .map((table) => {
          const statement = database.prepare(`SELECT * FROM "${String(table["name"])}"`);
          // The platform's alarm is in nanoseconds.
          statement.setReadBigInts(true);
          return statement.all();
        });
      database.close();
      return [name, { tables, rows }];
    })
  );
}

describe.each(["june", "newest"])("objects of the original, generation %s", (generation) => {
  test("are refused with what was found, left as they were, and opened by the original afterwards", async () => {
    const data = join(scratch, `data-${generation}`);
    const source = new URL(`../clients/${generation}/server.ts`, import.meta.url);
    const original = await originalWorker(source, generation);
    const written = await visit(original, data, { method: "POST" });
    expect(written.answers).toEqual([
      { status: 200, body: '{"count":1}' },
      { status: 200, body: '["u1"]' }
    ]);
    const before = contents(data);
    expect(Object.keys(before)).toHaveLength(2);

    const refused = await visit(successor, data);
    for (const { status, body } of refused.answers) {
      expect(status).toBe(500);
      expect(body).not.toContain("cf_");
    }
    expect(refused.log).toContain("OriginalObjectError");
    expect(refused.log).toMatch(/cf_agents_state \(\d+ rows?\)/);
    expect(refused.log).toMatch(/cf_agents_(schedules|jobs) \(1 row\)/);
    expect(contents(data)).toEqual(before);

    const kept = await visit(original, data);
    expect(kept.answers).toEqual(written.answers);
  });
});

// Installed by the first `npm run bench`.
describe.runIf(existsSync(new URL("node_modules", opponents)))("a Think of the original", () => {
  test.each(["june", "newest"])("of generation %s is refused and left as it was", async (generation) => {
    const data = join(scratch, `think-${generation}`);
    const original = await originalWorker(new URL(`${generation}/worker.ts`, opponents), `think-${generation}`);
    const objects = ["Chat"];
    expect((await visit(original, data, { objects })).answers).toMatchObject([{ status: 200 }]);
    const before = contents(data);
    const refused = await visit(successor, data, { objects });
    expect(refused.answers).toMatchObject([{ status: 500 }]);
    expect(refused.log).toContain("OriginalObjectError");
    expect(contents(data)).toEqual(before);
    expect((await visit(original, data, { objects })).answers).toMatchObject([{ status: 200 }]);
  });
});
