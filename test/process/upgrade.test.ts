// Upgrades and their undoing: a process of one release is killed in the middle of its work, and one of the other release goes on
// with its data, kill after kill. Of each release that is kept; all kills: `npm run upgrade:matrix`.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { SCHEMA_VERSION } from "../../src/host/schema.ts";
import { runProcessChaos } from "../../tools/chaos-process.ts";
import { buildOf, releases } from "../fixtures/releases/releases.ts";
import { startWorker } from "./workerd-process.ts";
import { runWorkChaos } from "./work/run.ts";

const KILLS = Number(process.env["EVERTHINK_UPGRADE_KILLS"] ?? 4);
const SEED = Number(process.env["EVERTHINK_UPGRADE_SEED"] ?? 1);
/** Each kill is followed by pauses of recovery. */
const TIMEOUT_MS = 120_000 + KILLS * 30_000;

test("a release is kept", () => expect(releases().length).toBeGreaterThan(0));

describe.each(releases().filter(({ schemaVersion }) => schemaVersion <= SCHEMA_VERSION))(
  "release $name and this one",
  (release) => {
    // Back to an older layout is refused, which another test shows.
    test.skipIf(release.schemaVersion < SCHEMA_VERSION)(
      "take turns after kills: a conversation ends as if there had been none",
      async () => {
        const otherBuild = buildOf(release, "survivor");
        const result = await runProcessChaos({ kills: KILLS, seed: SEED, lanes: 1, otherBuild, log: console.log });
        expect(result.differences).toEqual([]);
        expect(result.kills).toBeGreaterThanOrEqual(KILLS);
      },
      TIMEOUT_MS
    );

    test.skipIf(release.schemaVersion < SCHEMA_VERSION)(
      "take turns after kills: no open approval, child, execution, submission or schedule is lost or repeated",
      async () => {
        const otherBuild = buildOf(release, "every-kind");
        const result = await runWorkChaos({
          kills: KILLS,
          seed: SEED,
          tasksWithinMs: 20_000,
          otherBuild,
          log: console.log
        });
        expect(result.problems).toEqual([]);
        expect(result.kills).toBeGreaterThanOrEqual(KILLS);
      },
      TIMEOUT_MS
    );

    test("an object of a newer layout is refused in words by the older release, and is as it was when the newer one is back", async () => {
      const entry = new URL("../chaos/process/survivor-worker.ts", import.meta.url);
      const server = await startWorker({ entry, objects: ["Survivor"] });
      const ask = () => fetch(`${server.url}/agents/survivor/a/get-messages`);
      expect((await ask()).status).toBe(200);
      const { build } = server;
      await server.kill();
      const layouts = (version: number) => metas(server.dataDirectory).map((file) => inFile(file, version));
      expect(layouts(SCHEMA_VERSION + 1)).toHaveLength(1);
      const before = metas(server.dataDirectory).map(contents);
      server.deployInTurn([buildOf(release, "survivor")]);
      await server.start();
      const refused = await ask();
      expect(refused.ok).toBe(false);
      expect(`${await refused.text()} ${server.log}`).toMatch(/newer/i);
      await server.kill();
      expect(metas(server.dataDirectory).map(contents)).toEqual(before);
      layouts(SCHEMA_VERSION);
      server.deployInTurn([build]);
      await server.start();
      expect((await ask()).status).toBe(200);
      await server.stop();
    });
  }
);

/** The databases of objects. */
function metas(folder: string): string[] {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".sqlite"));
  return files
    .map((name) => join(folder, name))
    .filter((file) => contents(file).some(([table]) => table === "cf_meta"));
}

function inFile(file: string, version: number): void {
  const database = new DatabaseSync(file);
  database.prepare("UPDATE cf_meta SET version = ?").run(version);
  database.close();
}

/** Every row of every table. */
function contents(file: string): [table: string, rows: unknown[]][] {
  const database = new DatabaseSync(file, { readOnly: true });
  const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").all();
  const all = tables.map(({ name }): [string, unknown[]] => [
    String(name),
    database.prepare(`SELECT * FROM "${String(name)}"`).all()
  ]);
  database.close();
  return all;
}
