import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readBuild } from "./build.ts";

let project = "";
beforeEach(() => {
  project = mkdtempSync(join(tmpdir(), "everthink-build-"));
});
afterEach(() => rmSync(project, { recursive: true, force: true }));

function put(files: Record<string, unknown>): void {
  for (const [path, content] of Object.entries(files)) {
    const file = join(project, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
  }
}

const config = { name: "app", main: "index.js", compatibility_date: "2026-09-18", assets: { directory: "../client" } };
const viteBuild = {
  "dist/app/wrangler.json": config,
  "dist/app/index.js": "",
  "dist/app/index.js.map": "",
  "dist/app/.dev.vars": "A=1",
  "dist/app/.vite/manifest.json": "{}",
  "dist/app/assets/chunk.js": "",
  "dist/app/assets/engine.wasm": "",
  "dist/client/index.html": "",
  "dist/client/script.js": ""
};
const read = (build?: string, more: { objects?: string[]; assets?: string } = {}) =>
  readBuild({ objects: [], ...more, ...(build === undefined ? {} : { build }) }, project);
const names = (build: ReturnType<typeof readBuild>) => build.modules.map(({ name, kind }) => `${name} ${kind}`);

describe("a build", () => {
  test.each([undefined, "dist/app", "dist/app/wrangler.json"])("of Vite is found by %s", (place) => {
    put(viteBuild);
    const build = read(place);
    expect(names(build)).toEqual(["index.js esModule", "assets/chunk.js esModule", "assets/engine.wasm wasm"]);
    expect(build.folder).toBe(join(project, "dist/app"));
    expect(build.assetFolder).toBe(join(project, "dist/client"));
  });

  test("is where the last build says it is, before any other", () => {
    put({ ...viteBuild, "dist/other/wrangler.json": config, "dist/other/index.js": "" });
    put({ ".wrangler/deploy/config.json": { configPath: "../../dist/other/wrangler.json" } });
    expect(read().folder).toBe(join(project, "dist/other"));
  });

  test("may be a folder of modules, with objects named on the command line", () => {
    put({ "out/index.js": "", "out/lib/a.mjs": "", "out/README.md": "" });
    const build = read("out", { objects: ["A"] });
    expect(names(build)).toEqual(["index.js esModule", "lib/a.mjs esModule"]);
    expect(build.manifest.objects).toEqual([{ className: "A", key: "everthink-A", hasSql: true }]);
  });

  test("may be one file, and nothing beside it is taken along", () => {
    put({ "worker.js": "", "other.js": "", "public/a.txt": "" });
    const build = read("worker.js", { objects: ["A"], assets: "public" });
    expect(names(build)).toEqual(["worker.js esModule"]);
    expect(build.manifest.bindings.map(({ type, name }) => `${type} ${name}`)).toEqual(["object A", "assets ASSETS"]);
  });

  test("does not take assets inside its folder for modules, and warns of what it does not read", () => {
    put({ "out/wrangler.json": { ...config, assets: { directory: "public" } }, "out/index.js": "" });
    put({ "out/public/app.js": "", "out/public/_headers": "" });
    const build = read("out");
    expect(names(build)).toEqual(["index.js esModule"]);
    expect(build.manifest.warnings).toEqual(["The file _headers among the assets is not read here."]);
  });

  test.each<[string, Record<string, unknown>, string | undefined, string, string]>([
    ["nothing", {}, undefined, "MissingBuildError", "There is no build here"],
    ["a wrong name", {}, "dist/app", "MissingBuildError", "There is no build at dist/app."],
    ["an empty folder", { "out/a.txt": "" }, "out", "MissingBuildError", "out is no build"],
    [
      "two builds",
      { "dist/a/wrangler.json": config, "dist/b/wrangler.json": config },
      undefined,
      "MissingBuildError",
      "more than one build here: dist/a, dist/b."
    ],
    [
      "no entry",
      { "dist/a/wrangler.json": config },
      undefined,
      "MissingBuildError",
      "The entry module is missing: dist/a/index.js."
    ],
    [
      "no assets",
      { "o/wrangler.json": config, "o/index.js": "" },
      "o",
      "MissingBuildError",
      "The folder of assets is missing: client."
    ],
    [
      "sources",
      { "wrangler.jsonc": '{"main":"src/a.ts","compatibility_date":"2026-01-01",}', "src/a.ts": "" },
      ".",
      "UnusableBuildError",
      "src/a.ts is TypeScript, not a build."
    ],
    ["a broken file", { "o/wrangler.json": "{" }, "o", "UnusableBuildError", "cannot be read"],
    ["toml", { "wrangler.toml": "" }, "wrangler.toml", "UnusableBuildError", "A wrangler.toml cannot be read."],
    ["a text", { "a.txt": "" }, "a.txt", "UnusableBuildError", "a.txt is not a JavaScript module."]
  ])("that is %s is refused in plain words", (_case, files, place, name, message) => {
    put(files);
    expect(() => read(place)).toThrow(expect.objectContaining({ name }));
    expect(() => read(place)).toThrow(message);
  });

  test("with a configuration takes no objects from the command line", () => {
    put(viteBuild);
    expect(() => read("dist/app", { objects: ["A"] })).toThrow(expect.objectContaining({ name: "UsageError" }));
  });
});
