import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readBuild } from "./build.ts";
import { writeRunFolder } from "./run-folder.ts";

let place = "";
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), "everthink-run-folder-"));
});
afterEach(() => rmSync(place, { recursive: true, force: true }));

test("the configuration, with what the Worker's variables say, is readable by its user only, also after another start", () => {
  for (const name of ["worker.js", "front.js"]) writeFileSync(join(place, name), "");
  const build = readBuild({ build: "worker.js", objects: [] }, place);
  const bindings = [{ type: "text" as const, name: "API_KEY", value: "very-secret-value" }];
  const write = () =>
    writeRunFolder(join(place, "data"), {
      build,
      bindings,
      frontWorker: join(place, "front.js"),
      allowsPrivateNetwork: false,
      bodySilenceMs: 30_000
    });
  for (const file of [write(), write()]) {
    expect(readFileSync(file, "utf8")).toContain("very-secret-value");
    expect((statSync(file).mode & 0o777).toString(8)).toBe("600");
  }
});
