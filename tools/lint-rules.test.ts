import { expect, test } from "vitest";
import { lintPage, lintSource } from "./lint-rules.ts";

interface Case {
  title: string;
  path?: string;
  text: string;
  found: string[];
}

const cases: Case[] = [
  { title: "a downward import", text: `import { a } from "../util/json.ts";`, found: [] },
  { title: "an upward import", text: `\nimport { a } from "../testing/host.ts";`, found: ["2 direction"] },
  { title: "an upward type import", text: `import type { A } from "../testing/host.ts";`, found: ["1 direction"] },
  { title: "an upward side-effect import", text: `import "../testing/host.ts";`, found: ["1 direction"] },
  { title: "an upward re-export", text: `export { a } from "../testing/host.ts";`, found: ["1 direction"] },
  { title: "an upward star re-export", text: `export * from "../testing/host.ts";`, found: ["1 direction"] },
  { title: "an upward dynamic import", text: `const a = () => import("../testing/host.ts");`, found: ["1 direction"] },
  { title: "an upward type query", text: `type A = import("../testing/host.ts").A;`, found: ["1 direction"] },
  {
    title: "record types in the client, inline",
    path: "src/client/store.ts",
    text: `import { type A, type B } from "../journal/records.ts";`,
    found: []
  },
  {
    title: "a record value among types in the client",
    path: "src/client/store.ts",
    text: `import { type A, b } from "../journal/records.ts";`,
    found: ["1 direction"]
  },
  {
    title: "an outcome that is written where turns are settled",
    path: "src/turn/settle.ts",
    text: `append([{ type: "turn-settled", turnId }]);`,
    found: []
  },
  {
    title: "an outcome that is written elsewhere",
    path: "src/turn/engine.ts",
    text: `const a = 1;\nappend([{ turnId, type: "turn-settled" as const }, { type: "turn-settled" }]);`,
    found: ["2 one-writer", "2 one-writer"]
  },
  {
    title: "an outcome that is read",
    path: "src/turn/engine.ts",
    text: `if (record.type === "turn-settled") count({ type: "turn-admitted" });`,
    found: []
  },
  { title: "an import quoted in a comment", text: `// import { a } from "../testing/host.ts";`, found: [] },
  { title: "a cast through unknown", text: `const a = b as unknown as string;`, found: ["1 cast-through-unknown"] },
  {
    title: "a cast through unknown with parentheses, in a generic arrow",
    text: `const a = <T,>(b: T) =>\n  (b as unknown) as string;`,
    found: ["2 cast-through-unknown"]
  },
  {
    title: "a cast through unknown in host",
    path: "src/host/workerd/facets.ts",
    text: `const a = b as unknown as C;`,
    found: []
  },
  { title: "a plain cast", text: `const a = b as string;`, found: [] },
  { title: "an SDK name of one major", text: `type A = LanguageModelV3;`, found: ["1 sdk-major"] },
  { title: "an SDK mock of one major", text: `const a = new MockLanguageModelV4();`, found: ["1 sdk-major"] },
  {
    title: "an SDK name in model",
    path: "src/model/adapter.ts",
    text: `import type { LanguageModelV3 } from "@ai-sdk/provider";`,
    found: []
  },
  { title: "an underscore field", text: `class A { _b = 1; }`, found: ["1 underscore-member"] },
  { title: "an underscore private field", text: `class A { #_b = 1; }`, found: ["1 underscore-member"] },
  { title: "an underscore method", text: `class A {\n  _b() {}\n}`, found: ["2 underscore-member"] },
  { title: "an underscore getter", text: `class A { get _b() { return 1; } }`, found: ["1 underscore-member"] },
  { title: "an underscore member of a type", text: `interface A { _b: string }`, found: ["1 underscore-member"] },
  {
    title: "an underscore constructor field",
    text: `class A { constructor(private _b: B) {} }`,
    found: ["1 underscore-member"]
  },
  { title: "an unused parameter", text: `const a = (_key: string, b: string) => b;`, found: [] },
  { title: "a query parameter of the wire", text: `const a = url.searchParams.get("_pk");`, found: [] },
  { title: "three parameters", text: `function a(b: 1, c: 2, d: 3) {}`, found: [] },
  { title: "four parameters", text: `function a(b: 1, c: 2, d: 3, e: 4) {}`, found: ["1 max-params"] },
  { title: "four parameters of an arrow", text: `const a = (b: 1, c: 2, d: 3, e: 4) => b;`, found: ["1 max-params"] },
  { title: "four parameters of a method", text: `class A { b(c: 1, d: 2, e: 3, f: 4) {} }`, found: ["1 max-params"] },
  {
    title: "the columns of a table test",
    path: "src/agent/sample.test.ts",
    text: `const a = (b: 1, c: 2, d: 3, e: 4) => b;`,
    found: []
  },
  { title: "a this parameter", text: `function a(this: A, b: 1, c: 2, d: 3) {}`, found: [] },
  { title: "a constructor", text: `class A { constructor(b: 1, c: 2, d: 3, e: 4) {} }`, found: [] },
  { title: "the platform's close callback", text: `class A { webSocketClose(a: 1, b: 2, c: 3, d: 4) {} }`, found: [] },
  { title: "a dumping ground", path: "src/agent/utils.ts", text: `export const a = 1;`, found: ["1 file-name"] },
  { title: "a types file", path: "src/journal/types.ts", text: `export type A = 1;`, found: ["1 file-name"] },
  {
    title: "a re-exporting index",
    path: "src/agent/index.ts",
    text: `export { A, type B } from "./agent.ts";`,
    found: []
  },
  { title: "code in an index", path: "src/agent/index.ts", text: `export const a = 1;`, found: ["1 index-reexports"] },
  {
    title: "an import in the root index",
    path: "src/index.ts",
    text: `export { a } from "./util/json.ts";\nimport "./agent/agent.ts";`,
    found: ["2 index-reexports"]
  },
  { title: "a component", path: "src/client/react.tsx", text: `export const A = () => <p>hello</p>;`, found: [] }
];

test.each(cases)("$title: $found", ({ path = "src/agent/sample.ts", text, found }) => {
  expect(lintSource(path, text).map(({ line, rule }) => `${line} ${rule}`)).toEqual(found);
});

test.each([
  [`useEffect(() => end.current?.scrollIntoView(), [messages]);`, ["1 effect-body"]],
  [`\nReact.useLayoutEffect(() => measure(), []);`, ["2 effect-body"]],
  [`useEffect(() => { end.current?.scrollIntoView(); }, [messages]);`, []],
  [`useEffect(() => { const stop = listen(); return stop; }, []);`, []],
  [`useMemo(() => measure(), []);`, []]
])("on a page, %s: %s", (text, found) => {
  expect(lintPage("starters/shared/page/main.tsx", text).map(({ line, rule }) => `${line} ${rule}`)).toEqual(found);
});

test("a file that does not parse is not passed over in silence", () => {
  expect(() => lintSource("src/agent/sample.ts", "const = ;")).toThrow();
});
