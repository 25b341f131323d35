// Objects that the published packages of the original wrote, in real processes: what is carried is ours from then on, what is
// not is refused in words and still theirs.
import { mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { bundleContender } from "../../bench/bundle.ts";
import { removeFolder } from "../../tools/remove-folder.ts";
import { startWorker } from "./workerd-process.ts";

const OBJECTS = ["Counter", "Chat"];
const scratch = mkdtempSync(join(tmpdir(), "everthink-original-"));
afterAll(() => removeFolder(scratch));

const successor = new URL("./fixtures/successor-worker.ts", import.meta.url);

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
  test("a plain agent is taken over and refused by the original from then on; so is a chat, or it stays theirs", async () => {
    const data = join(scratch, `data-${generation}`);
    const source = new URL(`../clients/${generation}/server.ts`, import.meta.url);
    const original = await originalWorker(source, generation);
    const written = await visit(original, data, { method: "POST" });
    expect(written.answers).toEqual([
      { status: 200, body: '{"count":1}' },
      { status: 200, body: '["u1"]' }
    ]);
    const chat = (all: Record<string, unknown>) => Object.entries(all).filter(([name]) => name.includes("Chat"));
    const before = chat(contents(data));
    expect(before).toHaveLength(1);

    const opened = await visit(successor, data);
    expect(opened.answers[0]).toEqual({ status: 200, body: '{"count":1}' });
    // The older one has a table of its own for messages; the newer one has that of a Think.
    const isCarried = generation === "newest";
    expect(opened.answers[1]?.status).toBe(isCarried ? 404 : 500);
    expect(opened.answers[1]?.body).not.toContain("cf_");
    if (!isCarried) expect(opened.log).toContain("cf_ai_chat_agent_messages (1 row)");
    if (!isCarried) expect(chat(contents(data))).toEqual(before);
    expect(
      JSON.stringify(contents(data), (_, value: unknown) => (typeof value === "bigint" ? String(value) : value))
    ).toContain('{\\"at\\":\\"noon\\"}');

    const back = await visit(original, data);
    expect(back.answers[0]?.status).toBe(500);
    expect(`${back.answers[0]?.body} ${back.log}`).toContain("This object was taken over by everthink");
    if (isCarried) expect(back.answers[1]?.status).toBe(500);
    else expect(back.answers[1]).toEqual(written.answers[1]);
  });
});
