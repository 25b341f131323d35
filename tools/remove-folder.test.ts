import { once } from "node:events";
import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import { removeFolder } from "./remove-folder.ts";

/** Writes as fast as it can for a moment. */
const WRITER = `
  const { mkdirSync, writeFileSync } = require("node:fs");
  const { parentPort, workerData } = require("node:worker_threads");
  const end = Date.now() + 200;
  for (let count = 0; Date.now() < end; count++) {
    try {
      mkdirSync(workerData, { recursive: true });
      writeFileSync(workerData + "/" + count, "");
    } catch {}
    if (count === 100) parentPort.postMessage("started");
  }
`;

test("a folder is removed although a process goes on writing to it for a while", async () => {
  const folder = mkdtempSync(join(tmpdir(), "everthink-remove-"));
  const writer = new Worker(WRITER, { eval: true, workerData: join(folder, "a") });
  const ended = once(writer, "exit");
  await once(writer, "message");
  await removeFolder(folder);
  await ended;
  await removeFolder(folder);
  expect(existsSync(folder)).toBe(false);
});

test("a folder that does not exist is no error", async () => {
  await removeFolder(join(tmpdir(), "everthink-remove-none"));
});

test("what is not a folder in use is told at once", async () => {
  const folder = mkdtempSync(join(tmpdir(), "everthink-remove-"));
  writeFileSync(join(folder, "file"), "");
  await expect(removeFolder(join(folder, "file", "below"))).rejects.toThrow("ENOTDIR");
  await removeFolder(folder);
});
