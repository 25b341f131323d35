import { describe, expect, test } from "vitest";
import { serveErrors } from "./errors.ts";
import { parseVariables, withVariables } from "./variables.ts";
import type { WorkerManifest } from "./worker-manifest.ts";

test.each([
  ["A=1\nB = two words \n", { A: "1", B: "two words" }],
  ["# A=1\n\nexport B=2", { B: "2" }],
  ['A="x # y" # note\nB=x # y\nC=x#y', { A: "x # y", B: "x", C: "x#y" }],
  ['A="one\\ntwo \\"three\\""', { A: 'one\ntwo "three"' }],
  ["A='one\\n$B'", { A: "one\\n$B" }],
  ['KEY="-----BEGIN\nabc=\n-----END"\nB=2', { KEY: "-----BEGIN\nabc=\n-----END", B: "2" }],
  ["A=\nB=2", { A: "", B: "2" }],
  ["A=a=b", { A: "a=b" }],
  ['A="open\nB=2', { A: '"open', B: "2" }],
  ["A=1\r\nB=2\r\n", { A: "1", B: "2" }],
  ["A=1\nA=2", { A: "2" }]
])("%j gives %j", (text, expected) => {
  expect(Object.fromEntries(parseVariables(text))).toEqual(expected);
});

describe("the Worker's variables", () => {
  const manifest = (part: Partial<WorkerManifest>): WorkerManifest => ({
    main: "index.js",
    rules: [],
    compatibilityDate: "2026-09-18",
    compatibilityFlags: [],
    objects: [],
    bindings: [],
    requiredSecrets: [],
    warnings: [],
    ...part
  });
  const bindings = [
    { type: "text" as const, name: "MODE", value: "build" },
    { type: "text" as const, name: "PATH", value: "build" }
  ];

  test("come from the environment before the file, and from the file before the build", () => {
    const sources = { file: "MODE=file\nKEY=file", environment: { KEY: "environment" }, names: ["KEY"] };
    expect(withVariables(manifest({ bindings }), sources)).toEqual([
      { type: "text", name: "PATH", value: "build" },
      { type: "secret", name: "MODE", value: "file" },
      { type: "secret", name: "KEY", value: "environment" }
    ]);
  });

  test("are not taken from the environment unless asked for by name", () => {
    const sources = { environment: { PATH: "/bin", MODE: "shell" }, names: [] };
    expect(withVariables(manifest({ bindings }), sources)).toEqual(bindings);
  });

  test("that the configuration requires are taken from the environment, and missed by name", () => {
    const needy = manifest({ requiredSecrets: ["KEY", "OTHER"] });
    const environment = { KEY: "1", OTHER: "2" };
    expect(withVariables(needy, { environment, names: [] })).toHaveLength(2);
    expect(() => withVariables(needy, { environment: {}, names: ["KEY", "MORE"] })).toThrow(
      serveErrors.MissingVariableError(["KEY", "OTHER", "MORE"])
    );
  });
});
