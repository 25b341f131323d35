import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { describe, expect, test } from "vitest";
import { pluginOf } from "../plugins.ts";
import { streamsFrom } from "./plugin.ts";

const MAKING = `const stream = new TransformStream();\nexport { stream };`;
const STREAMS = "/streams.js";
const { transform } = pluginOf(streamsFrom(STREAMS));
const SDK_FILE = "/project/node_modules/ai/dist/index.js";

describe("fast streams are given", () => {
  test("to modules of the SDK, without moving a line", () => {
    expect(transform(MAKING, SDK_FILE)?.code).toBe(
      `import { ReadableStream, TransformStream } from "/streams.js"; ${MAKING}`
    );
  });

  test.each([
    ["another package manager", "/p/node_modules/.pnpm/ai@7.0.0/node_modules/ai/dist/index.js"],
    ["a Windows path", "C:\\p\\node_modules\\ai\\dist\\index.mjs"],
    ["a bundler's query", `${SDK_FILE}?v=1`]
  ])("however the file is named: %s", (_name, id) => {
    expect(transform(MAKING, id)?.code).toContain(STREAMS);
  });

  test.each([
    ["the user's own modules", "/project/src/worker.ts", MAKING],
    ["providers", "/project/node_modules/@ai-sdk/openai/dist/index.js", MAKING],
    ["packages whose name only ends alike", "/project/node_modules/openai/dist/index.js", MAKING],
    ["a module that makes none", SDK_FILE, "export { a };"],
    ["a module that cannot import", SDK_FILE, "module.exports = { stream: new TransformStream() };"]
  ])("and not to %s", (_name, id, code) => {
    expect(transform(code, id)).toBeUndefined();
  });

  test.each(["ai", "ai6"])("to the installed %s, which declares neither name itself", (name) => {
    const require = createRequire(import.meta.url);
    const file = require.resolve(name).replace(/ai6([\\/]dist[\\/]index)\.js$/, "ai6$1.mjs");
    const code = readFileSync(file, "utf8");
    expect(code).not.toMatch(/\b(?:class|const|let|var|function) (?:Readable|Transform)Stream\b/);
    expect(transform(code, SDK_FILE)).toBeDefined();
  });
});
