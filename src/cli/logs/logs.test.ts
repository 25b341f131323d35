// The log of a server as a file, and `everthink logs` that reads it.
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { testContext } from "../cli.test-support.ts";
import { dispatch } from "../main.ts";
import { DEV_LOG, LogFile, previousOf, readLog } from "./log-file.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "everthink-logs-"));
  put("agents/support.ts", "");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function put(name: string, text: string): void {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), text);
}

const AT = new Date("2026-11-19T12:00:00.000Z");
function log(name: string, warn = (_text: string) => undefined as void): LogFile {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  return new LogFile(join(folder, name), warn);
}

async function logs(
  args: readonly string[],
  signal = new AbortController().signal
): Promise<{ code: number; lines: string[] }> {
  const lines: string[] = [];
  const print = (text: string) => void lines.push(text);
  const context = testContext({ cwd: folder, print, note: print, stream: print, signal });
  return { code: await dispatch(["logs", ...args], context), lines };
}

describe("everthink logs", () => {
  beforeEach(() => {
    const file = log(DEV_LOG);
    file.write("\u001b[32mready\u001b[39m", "info", AT);
    file.write('Support "ada": a turn failed (request r1)', "error", AT);
    file.write('Support "bob": slow (request r2)', "warn", AT);
  });

  test.each<[args: string[], shown: RegExp[]]>([
    [[], [/^2026-11-19T12:00:00\.000Z info {2}ready$/, /error .*ada/, /warn {2}.*bob/]],
    [
      ["--level", "warn"],
      [/ada/, /bob/]
    ],
    [["--agent", "ADA"], [/ada/]],
    [["--turn", "r2"], [/bob/]],
    [["--agent", "support", "--turn", "r1", "--level", "error"], [/ada/]],
    [["--lines", "1"], [/bob/]],
    [["--lines", "0"], []]
  ])("%j", async (args, shown) => {
    const { code, lines } = await logs(args);
    expect([code, lines]).toEqual([0, shown.map((one) => expect.stringMatching(one))]);
  });

  test("JSON is a line each", async () => {
    const { lines } = await logs(["--json", "--lines", "1"]);
    expect(JSON.parse(lines[0] ?? "")).toEqual({
      time: AT.toISOString(),
      level: "warn",
      text: 'Support "bob": slow (request r2)'
    });
  });

  test("follows until it is stopped, also over a file that begins anew", async () => {
    const stop = new AbortController();
    const lines: string[] = [];
    const print = (text: string) => void lines.push(text);
    const context = testContext({ cwd: folder, print, note: print, stream: print, signal: stop.signal });
    const ended = dispatch(["logs", "--follow", "--lines", "0"], context);
    const file = log(DEV_LOG);
    await new Promise((resolve) => setImmediate(resolve));
    file.write("first", "info", AT);
    await vi.waitFor(() => expect(lines.join()).toContain("first"), 5_000);
    writeFileSync(join(folder, DEV_LOG), "");
    file.write("anew", "info", AT);
    await vi.waitFor(() => expect(lines.join()).toContain("anew"), 5_000);
    stop.abort();
    expect(await ended).toBe(0);
  });

  test("is of the server that wrote last, or of the folder that is named", async () => {
    log(".data/everthink.log").write("served", "info", new Date("2026-11-19T13:00:00.000Z"));
    expect((await logs([])).lines).toEqual([expect.stringContaining("served")]);
    log("other/everthink.log").write("elsewhere", "info", AT);
    expect((await logs(["--data", "other"])).lines).toEqual([expect.stringContaining("elsewhere")]);
  });

  test("without a log says who writes one; a wrong level is named", async () => {
    rmSync(join(folder, ".wrangler"), { recursive: true });
    await expect(logs([])).rejects.toMatchObject({ hint: expect.stringContaining("--deployed") });
    await expect(logs(["--level", "loud"])).rejects.toThrow('not "loud"');
  });

  test("--deployed is what wrangler tail prints, by the same filter", async () => {
    put(
      "node_modules/.bin/wrangler",
      '#!/bin/sh\necho "ran $@"\necho \'Support "ada": a turn failed\'\necho "Support bob"\n[ "$4" != --fail ]\n'
    );
    chmodSync(join(folder, "node_modules/.bin/wrangler"), 0o755);
    const { lines } = await logs(["--deployed", "--env", "staging"]);
    expect(lines).toEqual(
      ["ran tail --env staging", "a turn failed", "Support bob"].map((one) => expect.stringContaining(one))
    );
    expect((await logs(["--deployed", "--level", "error"])).lines).toEqual([expect.stringContaining("ada")]);
    await expect(logs(["--deployed", "--env", "x", "--", "--fail"])).rejects.toThrow("wrangler tail ended with 1");
  });
});

describe("the file", () => {
  test("is for no other user, and has one earlier file beside it past its limit", () => {
    const file = log("a.log");
    const path = join(folder, "a.log");
    for (let index = 0; index < 9; index += 1) file.write(`${index} ${"x".repeat(1024 * 1024)}`, "info", AT);
    expect(statSync(path).mode & 0o077).toBe(0);
    expect([statSync(path).size, statSync(previousOf(path)).size].every((size) => size <= 4 * 1024 * 1024)).toBe(true);
    expect(readLog(path, 0)?.lines.at(-1)?.text).toMatch(/^8 x/);
  });

  test("that cannot be written is said once, and stops nothing", () => {
    const said: string[] = [];
    const file = new LogFile(join(folder, "no", "a.log"), (text) => said.push(text));
    file.write("one", "info");
    file.write("two", "info");
    expect(said).toEqual([expect.stringContaining("cannot be written")]);
    expect(existsSync(join(folder, "no"))).toBe(false);
  });

  test("of another form is passed over, and half a line waits for its end", () => {
    put("b.log", 'no json\n{"time":1}\n{"time":"t","level":"info","text":"whole"}\n{"time":"t"');
    const piece = readLog(join(folder, "b.log"), 0);
    expect(piece?.lines).toEqual([{ time: "t", level: "info", text: "whole" }]);
    expect(readFileSync(join(folder, "b.log"), "utf8").slice(piece?.end)).toBe('{"time":"t"');
  });
});
