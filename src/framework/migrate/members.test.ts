// What `everthink migrate` says about members of classes, about functions that are called in another way, and about packages
// that stay.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseAst } from "rolldown/parseAst";
import { afterAll, describe, expect, test } from "vitest";
import { classMembers } from "./own-declarations.ts";
import { planProject } from "./migrate-project.ts";
import { isWholeMigration } from "./migrate.ts";
import { OTHER_CALLS } from "./other-calls.ts";
import { counterpartOf } from "./specifiers.ts";
import { unknownMembers } from "./used-members.ts";

const scratch = mkdtempSync(join(tmpdir(), "everthink-members-test-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const parse = (code: string, language: string) => parseAst(code, { lang: language as "ts" });

const OF_AGENT = new Set(["ctx", "env", "schedule", "state"]);
const used = (code: string, language = "ts") =>
  unknownMembers(parse(code, language), (specifier, name) =>
    specifier === "agents" && name === "Agent" ? OF_AGENT : undefined
  ).map(({ name, base, start }) => {
    expect(code.slice(start, start + name.length)).toBe(name);
    return `${base}.${name}`;
  });

const HEAD = 'import { Agent, callable } from "agents";\n';

describe("a member that the base class does not have", () => {
  test.each<[string, string, string[]]>([
    ["is found in a method", "class A extends Agent { run() { return this.gone(); } }", ["Agent.gone"]],
    ["is found in an arrow function", "class A extends Agent { run() { return () => this.gone; } }", ["Agent.gone"]],
    ["is found in a field", "class A extends Agent { one = this.gone; }", ["Agent.gone"]],
    ["is found in a getter", "class A extends Agent { get one() { return this.gone; } }", ["Agent.gone"]],
    ["is found in a default", "class A extends Agent { run(one = this.gone) { return one; } }", ["Agent.gone"]],
    [
      "is found in a class without a name",
      "export default class extends Agent { run() { this.gone(); } }",
      ["Agent.gone"]
    ],
    [
      "is found through a class of the file",
      "class A extends Agent { own() {} } class B extends A { run() { this.own(); this.gone(); } }",
      ["Agent.gone"]
    ],
    ["is asked of super", "class A extends Agent { run() { return super.gone(); } }", ["Agent.gone"]],
    ["is asked of super by its own namesake", "class A extends Agent { gone() { super.gone(); } }", ["Agent.gone"]],
    [
      "is asked of super past the class of the file that has none",
      "class A extends Agent {} class B extends A { gone() { super.gone(); } }",
      ["Agent.gone"]
    ],
    [
      "is taken out of this",
      "class A extends Agent { run() { const { state, gone: x = 1, ...rest } = this; } }",
      ["Agent.gone"]
    ],
    [
      "is taken out by an assignment",
      "class A extends Agent { run() { let gone; ({ gone } = this); } }",
      ["Agent.gone"]
    ],
    ["is behind any", "class A extends Agent { run() { (this as any).gone(); } }", ["Agent.gone"]],
    ["is behind unknown", "class A extends Agent { run() { (this as unknown as Old)?.gone; } }", ["Agent.gone"]],
    ["is behind a bang", "class A extends Agent { run() { this!.gone(); } }", ["Agent.gone"]],
    ["is a text", 'class A extends Agent { run() { this["gone"](); } }', ["Agent.gone"]],
    ["is overridden", "class A extends Agent { override gone() {} override state = 1; }", ["Agent.gone"]]
  ])("%s", (_where, code, expected) => {
    expect(used(HEAD + code)).toEqual(expected);
  });

  test("is found under a namespace, and only for what the namespace has", () => {
    const head = 'import * as ag from "agents";\n';
    expect(used(`${head}class A extends ag.Agent { run() { this.gone(); this.state; } }`)).toEqual(["Agent.gone"]);
    expect(used(`${head}class A extends ag.Other { run() { this.gone(); } }`)).toEqual([]);
    expect(used(`${head}class A extends ag { run() { this.gone(); } }`)).toEqual([]);
  });

  test("is found under another name of the base", () => {
    expect(used('import { Agent as Base } from "agents"; class A extends Base { run() { this.gone(); } }')).toEqual([
      "Agent.gone"
    ]);
  });

  test.each<[string, string]>([
    ["the base has", "class A extends Agent { run() { this.schedule(); this.state; } }"],
    ["the class declares", "class A extends Agent { gone() {} other = 1; run() { this.gone(); this.other; } }"],
    [
      "the class only declares the type of",
      "class A extends Agent { declare gone: string; run() { return this.gone; } }"
    ],
    [
      "a constructor declares",
      "class A extends Agent { constructor(private gone: string) { super(); } run() { return this.gone; } }"
    ],
    [
      "the class of the file has for super",
      "class A extends Agent { own() {} } class B extends A { own() { super.own(); } }"
    ],
    ["any only is assigned", "class A extends Agent { run() { (this as any).gone = 1; return (this as any).gone; } }"],
    ["overrides one of the base", "class A extends Agent { override schedule() { return super.schedule(); } }"],
    ["is private", "class A extends Agent { #gone = 1; run() { return this.#gone; } }"],
    ["belongs to another this", "class A extends Agent { run() { return function () { return this.gone; }; } }"],
    ["belongs to an object", "class A extends Agent { run() { return { go() { return this.gone; } }; } }"],
    [
      "belongs to a class inside",
      "class A extends Agent { run() { return class { one = this.gone; go() { return this.gone; } }; } }"
    ],
    ["is static", "class A extends Agent { static run() { return this.gone; } }"],
    ["is computed", "class A extends Agent { run(name: string) { return this[name]; } }"],
    [
      "an interface of the same name adds",
      "interface A { gone: string } class A extends Agent { run() { return this.gone; } }"
    ],
    ["a base has that is not known", "class A extends Unknown { run() { return this.gone; } }"],
    ["a mixin has", "class A extends mixed(Agent) { run() { return this.gone; } }"]
  ])("that %s is not taken for one", (_what, code) => {
    expect(used(HEAD + code)).toEqual([]);
  });

  test("that JavaScript assigns is the class's own", () => {
    const code = "class A extends Agent { constructor() { super(); this.cache = 1; } run() { return this.cache; } }";
    expect(used(HEAD + code, "jsx")).toEqual([]);
  });

  test("a circle of classes ends", () => {
    expect(used("class A extends B { run() { this.x; } } class B extends A {}")).toEqual([]);
  });
});

test("members of a class are read off declarations, through the files of a build", () => {
  const write = (name: string, text: string) => writeFileSync(join(scratch, name), text);
  write("index.d.ts", 'import { t as Think } from "./think-x1.js";\nexport { Think };\n');
  write(
    "think-x1.d.ts",
    'import { n as Agent } from "./agent-x2.js";\ndeclare abstract class Think<E = unknown> extends Agent<E> { messages: string[]; get session(): object; static only: string; protected saved(): void; }\nexport { Think as t };\n'
  );
  write(
    "agent-x2.d.ts",
    'import { DurableObject } from "#platform";\ndeclare class Agent<E> extends DurableObject<E> { #secret; schedule(): void; }\nexport { Agent as n };\n'
  );
  const members = classMembers(join(scratch, "index.d.ts"), "Think", parse);
  expect([...(members ?? [])]).toEqual(
    expect.arrayContaining(["messages", "session", "saved", "schedule", "ctx", "env"])
  );
  expect(members?.has("only")).toBe(false);
  write(
    "merged.d.ts",
    'import { n as Agent } from "./agent-x2.js";\ndeclare class FileMembers { readonly files: object; }\ninterface Members extends FileMembers { submit(): void; }\ndeclare class Merged extends Agent {}\ninterface Merged<E = unknown> extends Members {}\nexport { Merged };\n'
  );
  const merged = classMembers(join(scratch, "merged.d.ts"), "Merged", parse);
  expect([...(merged ?? [])]).toEqual(expect.arrayContaining(["files", "submit", "schedule", "ctx"]));
  write("open.d.ts", 'interface Open extends Pick<Other, "one"> {}\ndeclare class Open {}\nexport { Open };\n');
  expect(classMembers(join(scratch, "open.d.ts"), "Open", parse)).toBeUndefined();
  write("lost.d.ts", 'import { X } from "elsewhere";\ndeclare class Lost extends X {}\nexport { Lost };\n');
  expect(classMembers(join(scratch, "lost.d.ts"), "Lost", parse)).toBeUndefined();
  expect(classMembers(join(scratch, "nothing.d.ts"), "Lost", parse)).toBeUndefined();
});

function plannedNotes(code: string) {
  writeFileSync(join(scratch, "package.json"), "{}");
  writeFileSync(join(scratch, "server.ts"), code);
  const { notes, changes } = planProject({
    folder: scratch,
    parseModule: parse,
    exported: new Set([".", "./agent", "./server-entry", "./framework", "./messengers"]),
    namesOf: () => undefined,
    membersOf: (_subpath, className) => (className === "Agent" ? OF_AGENT : undefined),
    version: "1.2.3"
  });
  const own = notes.filter(({ file }) => file === "server.ts");
  const result = { notes: own, changes, isProject: true, isWritten: false, places: [], objects: [] };
  return { lines: own.map(({ line, text }) => `${line}: ${text}`), isWhole: isWholeMigration(result) };
}

test("a project is shown the line of a member that is gone", () => {
  const { lines, isWhole } = plannedNotes(`${HEAD}class A extends Agent {\n  run() {\n    this.gone();\n  }\n}\n`);
  expect(lines).toEqual(["4: this.gone is no member of everthink's Agent"]);
  expect(isWhole).toBe(false);
});

test("a member of super, and a hook that nothing calls, are named as such", () => {
  const code = `${HEAD}class A extends Agent {\n  override onGone() {\n    super.onGone();\n  }\n}\n`;
  expect(plannedNotes(code).lines).toEqual([
    "3: everthink's Agent has no onGone to override: nothing calls it",
    "4: super.onGone is no member of everthink's Agent"
  ]);
});

test.each([
  'import * as server from "@cloudflare/think/server-entry";\nserver.buildThinkAgentPath(1);\nserver.buildThinkAgentPath(2);',
  'const server = await import("@cloudflare/think/server-entry");\nserver.buildThinkAgentPath(1);',
  'import type { A } from "a";\nconst { buildThinkAgentPath } = await import("@cloudflare/think/server-entry");',
  'const server =\n  (require("@cloudflare/think/server-entry") as any).buildThinkAgentPath;',
  'import server = require("@cloudflare/think/server-entry");\nconst { buildThinkAgentPath: build } = server;',
  'import("@cloudflare/think/server-entry").then(\n({ buildThinkAgentPath }) => 1);',
  'import("@cloudflare/think/server-entry").then((server) =>\nserver.buildThinkAgentPath);',
  '\n(await import("@cloudflare/think/server-entry")).buildThinkAgentPath();'
])("a function that is called in another way is named however it is taken from its module: %s", (code) => {
  const { lines } = plannedNotes(code);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(/^2: buildThinkAgentPath is called in another way here: /);
});

test("what a copy of inferred defaults becomes is said where mergeThinkWorkerConfig is used", () => {
  const code =
    'import * as fw from "@cloudflare/think/framework";\nfw.mergeThinkWorkerConfig(user, { ...defaults });\n';
  expect(plannedNotes(code).lines).toEqual([expect.stringMatching(/^2: .* a copy of it \(\{ \.\.\.defaults \}\) too/)]);
});

test("a function that is called in another way is named once it moves, and not again", () => {
  const code = 'import { buildThinkAgentPath, createThinkRouter } from "@cloudflare/think/server-entry";\n';
  const { lines, isWhole } = plannedNotes(code);
  expect(lines).toEqual([
    "1: buildThinkAgentPath is called in another way here: buildThinkAgentPath({ agent, name, sub? }, manifest). Look at its calls"
  ]);
  expect(isWhole).toBe(false);
  expect(plannedNotes(code.replace("@cloudflare/think", "everthink")).lines).toEqual([]);
});

test.each(["@cloudflare/codemode", "@cloudflare/codemode/ai", "@cloudflare/shell", "@cloudflare/shell/git"])(
  "%s stays, and its counterpart is named",
  (specifier) => {
    const { lines, isWhole } = plannedNotes(`import { anything } from "${specifier}";\n`);
    expect(lines).toEqual([`1: "${specifier}" is left as it is; everthink has ${counterpartOf(specifier)}`]);
    expect(isWhole).toBe(true);
  }
);

describe("what the notes name exists", () => {
  const root = join(import.meta.dirname, "../../..");
  const surface = JSON.parse(readFileSync(join(root, "test/package/surface.json"), "utf8")) as Record<string, unknown>;
  const namesOf = (specifier: string) => JSON.stringify(surface[specifier.replace("everthink", ".")] ?? "");

  test.each(Object.entries(OTHER_CALLS))("%s", (specifier, calls) => {
    for (const [name, call] of Object.entries(calls)) {
      expect(namesOf(specifier)).toContain(`"${name}"`);
      expect(call.startsWith(`${name}(`)).toBe(true);
    }
  });

  test("counterparts", () => {
    for (const specifier of ["@cloudflare/codemode", "@cloudflare/shell"]) {
      const modules = counterpartOf(specifier)?.match(/"everthink[^"]*"/g) ?? [];
      expect(modules.length).toBeGreaterThan(0);
      for (const one of modules) expect(namesOf(JSON.parse(one) as string)).not.toBe('""');
    }
  });
});
