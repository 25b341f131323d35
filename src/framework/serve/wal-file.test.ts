import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, describe, expect, test } from "vitest";
import { logProblem, readLog, readLogIndex } from "./wal-file.ts";

const folder = mkdtempSync(join(tmpdir(), "everthink-wal-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;

/** A database as a killed process leaves it: both files are read while SQLite has it open. */
function left(work: (database: DatabaseSync) => void): { log: Buffer; index: Buffer } {
  const path = join(folder, `${++files}.sqlite`);
  const database = new DatabaseSync(path);
  database.exec("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE notes (text TEXT)");
  work(database);
  const result = { log: readFileSync(`${path}-wal`), index: readFileSync(`${path}-shm`) };
  database.close();
  return result;
}

const write = (database: DatabaseSync, times: number) => {
  for (let count = 0; count < times; count += 1) {
    database.prepare("INSERT INTO notes VALUES (?)").run("x".repeat(3_000));
  }
};

const problem = ({ log, index }: { log: Uint8Array | null; index?: Uint8Array }) =>
  logProblem(log && readLog(log), index && readLogIndex(index));

describe("a write-ahead log that SQLite wrote", () => {
  const { log, index } = left((database) => write(database, 6));
  const frames = readLog(log)?.usable ?? 0;
  const frameBytes = (log.length - 32) / frames;

  test("is read as SQLite reads it", () => {
    expect(frames).toBeGreaterThan(6);
    expect(readLogIndex(index)).toEqual({ committed: frames, copied: 0, salt: readLog(log)?.salt });
    expect([problem({ log, index }), problem({ log })]).toEqual([undefined, undefined]);
  });

  test("is missed when it is gone and was needed", () => {
    expect(problem({ log: null, index })).toBe("missing");
    expect(problem({ log: null })).toBeUndefined();
  });

  test("shows damage to any of its bytes that count, with its index and without", () => {
    for (let at = 0; at < log.length; at += 97) {
      const damaged = Buffer.from(log);
      damaged[at] = (damaged[at] ?? 0) ^ 0xff;
      expect([at, problem({ log: damaged, index })]).toEqual([at, "damaged"]);
      // Without the index a frame with another salt is taken for the end: older logs end like this.
      const isSalt = at >= 32 && (at - 32) % frameBytes >= 8 && (at - 32) % frameBytes < 16;
      if (!isSalt) expect([at, problem({ log: damaged })]).toEqual([at, "damaged"]);
    }
  });

  test("shows that it was cut off, by its index", () => {
    for (let size = 0; size < log.length; size += 1_013) {
      expect([size, problem({ log: log.subarray(0, size), index })]).toEqual([size, "damaged"]);
    }
  });
});

test("a log that was copied into the database is not missed, also when it was removed or damaged", () => {
  const { log, index } = left((database) => {
    write(database, 3);
    database.exec("PRAGMA wal_checkpoint(PASSIVE)");
  });
  const damaged = Buffer.from(log).fill(0, 100, 200);
  for (const one of [log, damaged, null, Buffer.alloc(40)]) expect(problem({ log: one, index })).toBeUndefined();
});

test("what an older log left behind the end of the newest is not taken for damage", () => {
  const { log, index } = left((database) => {
    write(database, 8);
    database.exec("PRAGMA wal_checkpoint(RESTART)");
    write(database, 1);
  });
  expect(readLog(log)?.usable).toBeLessThan(5);
  expect([problem({ log, index }), problem({ log })]).toEqual([undefined, undefined]);
});

test("a transaction that never ended is not missed", () => {
  const { log, index } = left((database) => {
    write(database, 2);
    database.exec("PRAGMA cache_size = 1; BEGIN");
    write(database, 40);
  });
  expect(readLogIndex(index)?.committed).toBe(readLog(log)?.usable);
  expect([problem({ log, index }), problem({ log })]).toEqual([undefined, undefined]);
});

test("an index that was not finished says nothing", () => {
  expect(readLogIndex(Buffer.alloc(0))).toBeUndefined();
  expect(readLogIndex(Buffer.alloc(32_768))).toBeUndefined();
});
