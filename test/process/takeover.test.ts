// A project that is written for the original, moved by the command and driven to the end without a manual step. Its data is
// that of the fixtures, put into the files of a real workerd; with the published packages installed
// (`npm run takeover:fixtures`), they write it here, children included.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, describe, expect, test } from "vitest";
import { bundleOriginal, isOriginalInstalled } from "../../tools/original-bundle.ts";
import { callObject, fillObjects, PROJECT } from "../../tools/takeover-fixtures.ts";
import { newest } from "../clients/newest/published.ts";
import { startWorker, type WorkerServer } from "./workerd-process.ts";

const REPOSITORY = join(import.meta.dirname, "..", "..");
const TEMPORARY = join(REPOSITORY, ".tmp");
mkdirSync(TEMPORARY, { recursive: true });
// Inside the repository: the moved project imports this package by its name.
const scratch = mkdtempSync(join(TEMPORARY, "takeover-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const OBJECTS = ["Assistant", "Counter"];

/** The project after `everthink migrate --write`. */
function movedProject(layout: string): string {
  const folder = join(scratch, layout);
  cpSync(PROJECT, folder, { recursive: true });
  execFileSync("node", ["dist/serve/cli.js", "migrate", folder, "--write"], { cwd: REPOSITORY });
  // It would be the package that the files belong to.
  rmSync(join(folder, "package.json"));
  return join(folder, "src", "server.ts");
}

/** Writes a fixture into the file that the object of this name has. */
function putFixture(folder: string, id: string, fixture: string): void {
  for (const file of readdirSync(folder).filter((name) => name.startsWith(id))) rmSync(join(folder, file));
  const database = new DatabaseSync(join(folder, `${id}.sqlite`));
  database.exec(readFileSync(join(REPOSITORY, "test", "takeover", "fixtures", `${fixture}.sql`), "utf8"));
  database.close();
}

async function until<T>(read: () => Promise<T>, isRight: (value: T) => boolean): Promise<T> {
  for (;;) {
    const value = await read();
    if (isRight(value)) return value;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Everything that was under way comes to its end, and a published client sees it. */
async function driveToTheEnd(server: WorkerServer): Promise<void> {
  const on = (method: string, ...args: unknown[]) =>
    callObject(server, { object: "assistant", name: "full", method }, ...args);
  const client = newest.connect<{ topic: string }>({
    host: new URL(server.url).host,
    agent: "assistant",
    name: "full"
  });
  await client.ready;
  await until(
    async () => client.state,
    (state) => state?.topic === "moving"
  );
  const submissions = await until(
    async () => (await on("submissions")) as { status: string }[],
    (all) => all.every(({ status }) => status === "completed")
  );
  expect(submissions).toHaveLength(3);
  const [pending] = (await on("pending")) as { executionId: string }[];
  await on("approve", pending?.executionId);
  const notes = await until(
    async () => (await on("notes")) as string[],
    (all) => all.includes("deployed v1")
  );
  expect(notes.filter((note) => note.startsWith("charged"))).toEqual(["charged i1"]);
  await on("ask", 'call charge {"invoice":"i1"}');
  expect(((await on("notes")) as string[]).filter((note) => note.startsWith("charged"))).toEqual(["charged i1"]);
  expect(JSON.stringify(await on("transcript"))).toContain("Submitted two words");
  client.close();
}

describe.each(["layout-a", "layout-b"] as const)("a project of %s", (layout) => {
  test("is moved by the command and driven to the end", async () => {
    const entry = movedProject(layout);
    const server = await startWorker({ entry, objects: OBJECTS });
    const names = ["full", "cut"];
    const id = (name: string) => callObject(server, { object: "assistant", name, method: "objectId" });
    const ids = await Promise.all(names.map(async (name) => String(await id(name))));
    await server.kill();
    const folder = join(server.dataDirectory, "everthink-Assistant");
    names.forEach((name, index) => putFixture(folder, ids[index] ?? "", `${layout}/Assistant.${name}`));
    await server.start();
    await driveToTheEnd(server);
    const cut = await until(
      async () => JSON.stringify(await callObject(server, { object: "assistant", name: "cut", method: "transcript" })),
      (text) => text.includes('This answer was cut off","state":"done"')
    );
    expect(cut).toContain('"id":"u1"');
  });

  test.runIf(isOriginalInstalled)("goes on with what the published packages wrote, children included", async () => {
    const dataDirectory = join(scratch, `data-${layout}`);
    const original = join(scratch, `${layout}.js`);
    await bundleOriginal(layout, { entry: join(PROJECT, "src", "server.ts"), outputFile: original });
    const before = await startWorker({ entry: original, objects: OBJECTS, dataDirectory, allowsPrivateNetwork: true });
    await fillObjects(before, layout);
    await before.kill();
    const server = await startWorker({ entry: movedProject(`${layout}-written`), objects: OBJECTS, dataDirectory });
    await driveToTheEnd(server);
    const child = { object: "assistant", name: "full", method: "childReport" };
    expect(await callObject(server, child, "owls")).toMatchObject({
      topic: "owls",
      messages: 2,
      schedules: [{ callback: "tick", payload: { topic: "owls" } }]
    });
    const kid = { object: "assistant", name: "kid", method: "childReport" };
    await until(
      async () => (await callObject(server, kid, "owls")) as { answer: string },
      ({ answer }) => answer === "Owls are birds"
    );
    expect(await callObject(server, { object: "counter", name: "plain", method: "show" })).toEqual({ count: 2 });
  });
});
