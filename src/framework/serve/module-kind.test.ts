import { expect, test } from "vitest";
import { moduleKinds } from "./module-kind.ts";

test.each([
  ["index.js", "esModule"],
  ["assets/chunk-a.b.mjs", "esModule"],
  ["legacy.cjs", "commonJsModule"],
  ["page.html", "text"],
  ["schema.sql", "text"],
  ["engine.wasm", "wasm"],
  ["model.bin", "data"],
  ["words.json", "json"],
  ["shader.glsl", "text"],
  ["odd.xyz", undefined],
  ["index.js.map", undefined],
  ["wrangler.json", undefined],
  [".vite/manifest.json", undefined],
  [".dev.vars", undefined],
  ["node_modules/a/index.js", undefined],
  ["README", undefined]
])("%s is %s", (path, kind) => {
  const rules = [
    { type: "Text", globs: ["**/*.glsl", "special/one.xyz"] },
    { type: "PythonModule", globs: ["**/*.py"] }
  ];
  expect(moduleKinds(rules)(path)).toBe(kind);
});
