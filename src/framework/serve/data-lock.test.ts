import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { lockDataFolder } from "./data-lock.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "everthink-lock-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("a folder is locked once, and free again after its release", async () => {
  const lock = await lockDataFolder(folder);
  await expect(lockDataFolder(folder, 0)).rejects.toThrow(expect.objectContaining({ name: "DataFolderInUseError" }));
  await expect(lockDataFolder(folder, 0)).rejects.toThrow(`process ${process.pid}, since 20`);
  lock.release();
  (await lockDataFolder(folder, 0)).release();
});

test("of many that ask at once, one gets it", async () => {
  const answers = await Promise.allSettled(Array.from({ length: 8 }, () => lockDataFolder(folder, 0)));
  const locks = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
  expect(locks).toHaveLength(1);
  locks[0]?.release();
});

test("a process that inherited it keeps it, and loses it with SIGKILL", async () => {
  const lock = await lockDataFolder(folder);
  const heir = spawn("sleep", ["600"], { stdio: ["ignore", "ignore", "ignore", lock.descriptor] });
  await once(heir, "spawn");
  lock.release();
  await expect(lockDataFolder(folder, 0)).rejects.toThrow(expect.objectContaining({ name: "DataFolderInUseError" }));
  heir.kill("SIGKILL");
  await once(heir, "close");
  (await lockDataFolder(folder, 0)).release();
});

test("what a dead owner left in the file is no lock", async () => {
  mkdirSync(join(folder, ".everthink"));
  writeFileSync(join(folder, ".everthink", "lock"), JSON.stringify({ pid: process.pid, since: "2020-01-01" }));
  (await lockDataFolder(folder, 0)).release();
});

test("a folder that does not exist is made", async () => {
  const deep = join(folder, "a", "b");
  (await lockDataFolder(deep)).release();
  expect(existsSync(deep)).toBe(true);
});

test("a folder that cannot be used is named with the reason", async () => {
  const file = join(folder, "file");
  writeFileSync(file, "");
  await expect(lockDataFolder(file)).rejects.toThrow(expect.objectContaining({ name: "DataFolderError" }));
  await expect(lockDataFolder(file)).rejects.toThrow(/cannot be used: (it is a file|a part of the path is a file)/);
  await expect(lockDataFolder(join(file, "below"))).rejects.toThrow("a part of the path is a file");
});

test.skipIf(process.getuid?.() === 0)("a folder this user may not write to is refused", async () => {
  chmodSync(folder, 0o500);
  await expect(lockDataFolder(folder)).rejects.toThrow("this user may not write there");
  chmodSync(folder, 0o700);
});

test("a folder is closed to other users of the machine, also one that was open to them", async () => {
  const fresh = join(folder, "fresh");
  (await lockDataFolder(fresh)).release();
  chmodSync(folder, 0o755);
  (await lockDataFolder(folder)).release();
  const modes = [fresh, folder, join(folder, ".everthink")].map((path) => (statSync(path).mode & 0o777).toString(8));
  expect(modes).toEqual(["700", "700", "700"]);
});
