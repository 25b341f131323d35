// A project that is written for the original, moved by the command and driven to the end by the published client, without a
// manual step. Its data is that of the fixtures, children included, put into the files of a real workerd; with the published
// packages installed (`npm run takeover:fixtures`), they write it here. Each layout is driven by clients of its own time.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { isDeepStrictEqual } from "node:util";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { bundleOriginal, isOriginalInstalled } from "../../tools/original-bundle.ts";
import { removeFolder } from "../../tools/remove-folder.ts";
import { fillObjects, PROJECT } from "../../tools/takeover-fixtures.ts";
import type { ShownMessage, ShownPart } from "../browser/page/chat-view.tsx";
import { until } from "../browser/until.ts";
import type { Generation } from "../clients/generation.ts";
import { june } from "../clients/june/published.ts";
import { newest } from "../clients/newest/published.ts";
import { renderHook } from "./clients/hook-stage.ts";
import { startWorker, type WorkerServer } from "./workerd-process.ts";

const REPOSITORY = join(import.meta.dirname, "..", "..");
const FIXTURES = join(REPOSITORY, "test", "takeover", "fixtures");
const TEMPORARY = join(REPOSITORY, ".tmp");
mkdirSync(TEMPORARY, { recursive: true });
// Inside the repository: the moved project imports this package by its name.
const scratch = mkdtempSync(join(TEMPORARY, "takeover-"));
const mounted: { unmount(): void }[] = [];
afterEach(() => {
  for (const page of mounted.splice(0)) page.unmount();
});
afterAll(() => removeFolder(scratch));

const OBJECTS = ["Assistant", "Counter"];
/** Objects whose work is brought to an end. */
const PLACED = [
  "Assistant.full",
  "Assistant.cut",
  "Assistant.asking",
  "Assistant.client",
  "Assistant.kid",
  "Counter.idle"
];

/** The project after `everthink migrate --write`. */
function movedProject(layout: string): string {
  const folder = join(scratch, layout);
  cpSync(PROJECT, folder, { recursive: true });
  execFileSync("node", ["dist/serve/cli.js", "migrate", folder, "--write"], { cwd: REPOSITORY });
  // It would be the package that the files belong to.
  rmSync(join(folder, "package.json"));
  return join(folder, "src", "server.ts");
}

/** Makes a database of a fixture, in place of the one that is there. */
function putFixture(file: string, fixture: string): DatabaseSync {
  for (const suffix of ["", "-wal", "-shm"]) rmSync(`${file}${suffix}`, { force: true });
  const database = new DatabaseSync(file);
  database.exec(`BEGIN; ${readFileSync(fixture, "utf8")} COMMIT;`);
  return database;
}

/** The keys of an object's facets, in the order of their files. */
function facetsOf(fixture: string): string[] {
  const database = putFixture(":memory:", fixture);
  const isKnown = database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'cf_agents_sub_agents'").get();
  if (!isKnown) return [];
  const children = database.prepare("SELECT class, name FROM cf_agents_sub_agents ORDER BY created_at").all();
  return children.map((child) => `${child["class"]}\0${child["name"]}`);
}

/** Data of a server as the original left it, children included. */
async function placeFixtures(layout: string): Promise<string> {
  const dataDirectory = join(scratch, `placed-${layout}`);
  const entry = new URL("./fixtures/facet-worker.ts", import.meta.url);
  const server = await startWorker({ entry, objects: OBJECTS, dataDirectory });
  const ids: string[] = [];
  for (const object of PLACED) {
    const [kind = "", name = ""] = object.split(".");
    const facets = facetsOf(join(FIXTURES, layout, `${object}.sql`));
    const response = await fetch(server.url, { method: "POST", body: JSON.stringify({ kind, name, facets }) });
    ids.push(await response.text());
  }
  await server.kill();
  for (const [index, object] of PLACED.entries()) {
    const [kind = ""] = object.split(".");
    const folder = join(dataDirectory, `everthink-${kind}`);
    for (const fixture of readdirSync(join(FIXTURES, layout)).filter((name) => name.startsWith(`${object}.`))) {
      const child = fixture.slice(object.length, -".sql".length);
      putFixture(join(folder, `${ids[index]}${child}.sqlite`), join(FIXTURES, layout, fixture)).close();
    }
  }
  return dataDirectory;
}

/** A page with the published hooks, and requests of the published client. */
class PublishedPage {
  readonly name: string;
  readonly #server: WorkerServer;
  readonly #generation: Generation;
  #page: Awaited<ReturnType<typeof renderHook<ReturnType<Generation["useChatPage"]>, null>>> | undefined;

  private constructor(server: WorkerServer, generation: Generation, name: string) {
    this.#server = server;
    this.#generation = generation;
    this.name = name;
  }

  static async open(
    server: WorkerServer,
    generation: Generation,
    name: string,
    child?: string
  ): Promise<PublishedPage> {
    const page = new PublishedPage(server, generation, name);
    const sub = child === undefined ? [] : [{ agent: "researcher", name: child }];
    const target = { host: new URL(server.url).host, agent: "Assistant", name, ...(child !== undefined && { sub }) };
    page.#page = await renderHook(
      () => generation.useChatPage(target),
      () => null
    );
    mounted.push(page.#page);
    return page;
  }

  get hooks(): ReturnType<Generation["useChatPage"]> {
    if (!this.#page) throw new Error("The page is not open.");
    return this.#page.current;
  }

  /** Calls a method of the project, as its own page would. */
  async fetch(method: string, ...args: unknown[]): Promise<unknown> {
    const target = { host: new URL(this.#server.url).host, agent: "assistant", name: this.name, query: { do: method } };
    const response = await this.#generation.fetch(target, { method: "POST", body: JSON.stringify(args) });
    return response.json();
  }

  shows(what: string, fits: (messages: readonly ShownMessage[]) => boolean): Promise<readonly ShownMessage[]> {
    return until({
      what: `${this.name} shows ${what}`,
      look: async () => this.hooks.chat.messages,
      fits,
      tell: (messages) => JSON.stringify(messages.slice(-3))
    });
  }

  async showsLast(text: string): Promise<void> {
    await this.shows(
      JSON.stringify(text),
      (messages) => textOf(messages.at(-1)).endsWith(text) && !this.hooks.chat.isStreaming
    );
  }

  async hasState(expected: object): Promise<void> {
    await until({
      what: `${this.name} has the state ${JSON.stringify(expected)}`,
      look: async () => this.hooks.agent.state,
      fits: (state) => isDeepStrictEqual(state, expected),
      tell: (state) => JSON.stringify(state)
    });
  }

  async waits(state: string): Promise<ShownPart> {
    const messages = await this.shows(state, (all) => partIn(all, state) !== undefined);
    return partIn(messages, state) as ShownPart;
  }
}

const textOf = (message: ShownMessage | undefined) => (message?.parts ?? []).map(({ text = "" }) => text).join("");

const partIn = (messages: readonly ShownMessage[], state: string) =>
  messages.flatMap(({ parts }) => parts).find((part) => part.state === state && part.toolCallId !== undefined);

/** Everything that was under way comes to its end, and the published client sees it, decides and asks. */
async function driveToTheEnd(server: WorkerServer, generation: Generation, hasFiles: boolean): Promise<void> {
  const open = (name: string, child?: string) => PublishedPage.open(server, generation, name, child);
  const full = await open("full");
  const notes = async (page: PublishedPage, start: string) =>
    ((await page.fetch("notes")) as string[]).filter((note) => note.startsWith(start));
  // State, submissions.
  for (const answer of ["Submitted one.", "Submitted two words", "Submitted three."]) {
    await full.shows(answer, (messages) => messages.some((message) => textOf(message) === answer));
  }
  await full.hasState({ topic: "moving", opened: 3 });
  const submissions = (await full.fetch("submissions")) as { status: string }[];
  expect(submissions.map(({ status }) => status)).toEqual(["completed", "completed", "completed"]);
  // A parked action is decided in the client, and runs once.
  const [parked] = await full.hooks.agent.call<{ executionId: string }[]>("pendingApprovals");
  await full.hooks.agent.call("approveExecution", [parked?.executionId]);
  await full.shows("the deployment", (messages) =>
    messages.some(({ parts }) => parts.some(({ output }) => JSON.stringify(output) === '{"deployed":"v1"}'))
  );
  expect(await notes(full, "deployed")).toEqual(["deployed v1"]);
  // An action that ran before answers with its stored value.
  await full.hooks.chat.sendMessage({ text: 'call charge {"invoice":"i1"}' });
  await full.showsLast("Done.");
  expect(await notes(full, "charged")).toEqual(["charged i1"]);
  // A schedule fires, once.
  const idle = { host: new URL(server.url).host, agent: "counter", name: "idle", query: { do: "notes" } };
  const ticks = await until({
    what: "the schedule fires",
    look: async () => (await (await generation.fetch(idle)).json()) as string[],
    fits: (all) => all.length > 0,
    tell: String
  });
  expect(ticks).toEqual(['tick "soon"']);
  if (hasFiles) expect(await full.fetch("readFile", "/notes/today.md")).toContain("Move in.");
  // A child is where it was, and one that was cut off goes on.
  const owls = await open("full", "owls");
  await owls.showsLast("About owls.");
  await owls.hasState({ topic: "owls" });
  await (await open("kid", "owls")).showsLast("Owls are birds");
  // A turn that was cut off goes on; calls that wait are answered in the client.
  await (await open("cut")).showsLast("This answer was cut off");
  const asking = await open("asking");
  await asking.hooks.chat.addToolApprovalResponse({
    id: (await asking.waits("approval-requested")).approval?.id ?? "",
    approved: true
  });
  await asking.showsLast("Done.");
  expect(await notes(asking, "removed")).toEqual(["removed bob"]);
  const client = await open("client");
  client.hooks.chat.addToolOutput({
    toolCallId: (await client.waits("input-available")).toolCallId ?? "",
    output: "blue"
  });
  await client.showsLast("Done.");
}

const GENERATIONS = { "layout-a": june, "layout-b": newest } as const;

describe.each(["layout-a", "layout-b"] as const)("a project of %s", (layout) => {
  test("is moved by the command and driven to the end by the published client", async () => {
    const dataDirectory = await placeFixtures(layout);
    const server = await startWorker({ entry: movedProject(layout), objects: OBJECTS, dataDirectory });
    await driveToTheEnd(server, GENERATIONS[layout], layout === "layout-a");
  });

  test.runIf(isOriginalInstalled)("goes on with what the published packages wrote", async () => {
    const dataDirectory = join(scratch, `data-${layout}`);
    const original = join(scratch, `${layout}.js`);
    await bundleOriginal(layout, { entry: join(PROJECT, "src", "server.ts"), outputFile: original });
    const before = await startWorker({ entry: original, objects: OBJECTS, dataDirectory, allowsPrivateNetwork: true });
    await fillObjects(before, layout);
    await before.kill();
    const server = await startWorker({ entry: movedProject(`${layout}-written`), objects: OBJECTS, dataDirectory });
    await driveToTheEnd(server, GENERATIONS[layout], layout === "layout-a");
    const counter = { host: new URL(server.url).host, agent: "counter", name: "plain", query: { do: "show" } };
    expect(await (await newest.fetch(counter)).json()).toEqual({ count: 2 });
  });
});
