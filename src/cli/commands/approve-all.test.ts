// `everthink approve --all` on a project whose objects are files here: what is asked, and what is refused before anything is asked.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { WORK_TABLES } from "../../work/work-table.ts";
import { testContext } from "../cli.test-support.ts";
import { dispatch } from "../main.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "everthink-approve-"));
  put("package.json", "{}");
  put("agents/support.ts", `import { Think } from "everthink";\nexport class Support extends Think {}\n`);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function put(path: string, text: string): string {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

/** An object of the development server; with a question that waits in it. */
function object(name: string, asked: boolean): void {
  const id = Buffer.from(name).toString("hex").padEnd(64, "0");
  const file = put(`.wrangler/state/v3/do/app-ThinkAgent_Support/${id}.sqlite`, "");
  const database = new DatabaseSync(file);
  database.exec("CREATE TABLE cf_meta (id INTEGER, identity TEXT, condemned INTEGER)");
  for (const { create } of WORK_TABLES) for (const sql of create) database.exec(sql);
  database.prepare("INSERT INTO cf_meta VALUES (1, ?, 0)").run(JSON.stringify({ name, parentPath: [] }));
  const item = `INSERT INTO cf_work (kind, key, payload, created_at) VALUES ('paused-action', 'actpause_1', '{"state":"parked"}', 1)`;
  if (asked) database.exec(item);
  database.close();
}

/** Ctrl-C was pressed already: no agent is waited for. */
async function run(...args: string[]) {
  const said = { output: "", notes: "" };
  const context = testContext({
    cwd: folder,
    signal: AbortSignal.abort(),
    print: (text) => (said.output += `${text}\n`),
    stream: (text) => (said.output += text),
    note: (text) => (said.notes += `${text}\n`)
  });
  return { code: await dispatch(["approve", "--all", ...args], context), ...said };
}

test("agents are found in their files, and only those that wait are asked; one that cannot be is named", async () => {
  object("idle", false);
  object("user/42", true);
  const { code, output, notes } = await run();
  expect([code, output]).toEqual([0, "Nothing waits for an approval.\n"]);
  expect(notes).toContain(
    "support/user%2F42 could not be asked: No connection to http://localhost:5173/agents/support/"
  );
  expect(notes).not.toContain("idle");
});

test("a project in which nothing waits says so, and as JSON it is an empty list", async () => {
  expect(await run()).toEqual({ code: 0, output: "Nothing waits for an approval.\n", notes: "" });
  expect((await run("--json")).output).toBe("[]\n");
});

test.each([
  [["support", "call-1"], "--all takes the id of a question"],
  [["--instance", "ada"], "--all takes the id of a question"],
  [["--url", "https://app.example.com"], "Which agents of that server?"],
  [["--at", "../x"], "--at takes an address like"]
])("%j is refused: %s", async (args, says) => {
  await expect(run(...args)).rejects.toThrow(says);
});

test("the id of what does not wait fails, and names the list", async () => {
  const hint = "What waits: everthink approve --all";
  await expect(run("call-1")).rejects.toMatchObject({ message: "call-1 does not wait for an approval.", hint });
});
