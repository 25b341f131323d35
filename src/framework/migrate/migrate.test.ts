// What `everthink migrate` shows and changes, on a project written for the original and on data that it wrote.
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { parseAst } from "rolldown/parseAst";
import { afterAll, describe, expect, test } from "vitest";
import { generateThinkTypes } from "../generate/declarations.ts";
import { discoverThinkApp } from "../manifest/discover.ts";
import { exportedNames } from "./own-declarations.ts";
import { planProject } from "./migrate-project.ts";
import { moveManifest } from "./move-config.ts";
import { formatMigration, isWholeMigration, migrate, migrationValue, unifiedDifference } from "./migrate.ts";
import { rewriteModule } from "./rewrite-module.ts";
import { verdictOn } from "./specifiers.ts";

const scratch = mkdtempSync(join(tmpdir(), "everthink-migrate-test-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const TAKEOVER = join(import.meta.dirname, "../../../test/takeover");
const EXPORTED = new Set([".", "./agent", "./agent-tools", "./session", "./workflows"]);

async function migrated(
  folder: string,
  options: { isWritten?: boolean; data?: readonly string[] } = {}
): Promise<{ isWhole: boolean; output: string }> {
  const { isWritten = false, data } = options;
  const result = await migrate({ folder, isWritten, data, note: () => {} });
  return { isWhole: isWholeMigration(result), output: formatMigration(result) };
}

function project(name: string): string {
  const folder = join(scratch, name);
  cpSync(join(TAKEOVER, "project"), folder, { recursive: true });
  return folder;
}

/** A file of a local server, from a fixture. */
function objectFile(folder: string, fixture: string): void {
  mkdirSync(folder, { recursive: true });
  const database = new DatabaseSync(join(folder, `${"a".repeat(64)}.sqlite`));
  // It need not be safe on the disk, which may be slow.
  database.exec(
    `PRAGMA synchronous = OFF; BEGIN; ${readFileSync(join(TAKEOVER, "fixtures", `${fixture}.sql`), "utf8")} COMMIT;`
  );
  database.close();
}

/** Names that a module of ours has; others have every name. */
const NAMES: Readonly<Record<string, readonly string[]>> = { "everthink/agent": ["Agent", "callable"] };

const MEMBERS: Readonly<Record<string, ReadonlySet<string>>> = {
  Agent: new Set(["ctx", "env", "schedule", "state", "setState"]),
  Think: new Set(["ctx", "env", "schedule", "messages"])
};

const rewritten = (code: string, lang = "tsx" as "ts" | "tsx" | "jsx") =>
  rewriteModule(code, parseAst(code, { lang }), {
    judge: (specifier) => verdictOn(specifier, EXPORTED),
    hasName: (specifier, name) => NAMES[specifier]?.includes(name) ?? true
  });

/** A project of these files, and what would change in them. */
function planned(name: string, files: Readonly<Record<string, string>>) {
  const folder = join(scratch, name);
  for (const [path, text] of Object.entries({ "package.json": "{}", ...files })) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const { changes, notes } = planProject({
    folder,
    parseModule: (code, language) => parseAst(code, { lang: language as "ts" }),
    exported: EXPORTED,
    namesOf: (subpath) => (subpath === "./agent" ? new Set(NAMES["everthink/agent"]) : undefined),
    membersOf: (_subpath, className) => MEMBERS[className],
    version: "1.2.3"
  });
  return {
    notes: notes.map(({ file, line, text }) => `${file}:${line}: ${text}`),
    changed: Object.fromEntries(changes.map(({ file, after }) => [file, after])),
    isWhole: notes.every(({ isAdvice = false }) => isAdvice)
  };
}

test("specifiers are changed wherever a module is named, and nowhere else", () => {
  const before = `// import "agents" in a comment
import { Think } from "@cloudflare/think"; // 🎉
import type { Agent } from 'agents';
export * from "agents/agent-tools";
export { ThinkWorkflow } from "@cloudflare/think/workflows";
const text = "@cloudflare/think";
const later = await import("agents");
type Later = import("agents").Agent;
import { useAgent } from "agents/react";
`;
  const { code, missing } = rewritten(before);
  expect(missing).toEqual([]);
  expect(code).toBe(
    before
      .replace('from "@cloudflare/think";', 'from "everthink";')
      .replace("from 'agents';", "from 'everthink/agent';")
      .replace('"agents/agent-tools"', '"everthink/agent-tools"')
      .replace('"@cloudflare/think/workflows"', '"everthink/workflows"')
      .replaceAll('import("agents")', 'import("everthink/agent")')
  );
});

test.each([
  'import * as agents from "agents";\nagents.gone();\nagents.callable();\nagents.gone();',
  'import * as agents from "agents";\ntype A = agents.gone;',
  'const agents = require("agents");\nconst { gone, callable } = agents;',
  '\nconst { gone = 1 } = await import("agents");'
])("a name that a module does not have is found however it is taken out of the module: %s", (code) => {
  expect(rewritten(code, "ts").missing).toEqual([{ specifier: "agents", name: "gone", line: 2 }]);
});

test("a variable that holds something else is no module", () => {
  const code = 'import * as agents from "agents";\nconst other = { gone: 1 };\nother.gone;\nagents[gone];\n';
  expect(rewritten(code, "ts").missing).toEqual([]);
});

test("what has no counterpart is listed with its line and left alone", () => {
  const before = `import { Think } from "@cloudflare/think";\n\nimport { createX402Client } from "agents/x402";\n`;
  const { code, missing } = rewritten(before);
  expect(missing).toEqual([{ specifier: "agents/x402", line: 3 }]);
  expect(code).toContain('"agents/x402"');
});

describe("a module is named in many ways", () => {
  test.each([
    ["an alias", 'import { Agent as Base } from "agents";', "ts"],
    ["a type", 'import type { Agent } from "agents";', "ts"],
    ["a type among values", 'import { type Agent, callable } from "agents";', "ts"],
    ["a namespace", 'import * as agents from "agents";', "ts"],
    ["an effect", 'import "agents";', "ts"],
    ["import = require", 'import agents = require("agents");', "ts"],
    ["export import", 'export import agents = require("agents");', "ts"],
    ["a re-export", 'export { Agent as default } from "agents";', "ts"],
    ["a namespace that is exported", 'export * as agents from "agents";', "ts"],
    ["a type that is imported in place", 'let one: import("agents").Agent;', "ts"],
    ["typeof", 'let all: typeof import("agents");', "ts"],
    ["a module that is extended", 'declare module "agents" { interface Agent { mine: 1 } }', "ts"],
    ["a dynamic import", 'const { Agent } = await import("agents");', "ts"],
    ["a template", "await import(`agents`);", "ts"],
    ["require", 'const { Agent } = require("agents");', "jsx"],
    ["require.resolve", 'require.resolve("agents");', "jsx"],
    ["import.meta.resolve", 'import.meta.resolve("agents");', "ts"],
    ["a mock", 'vi.mock("agents", () => ({}));', "ts"],
    ["a reference", '/// <reference types="agents" />\nexport {};', "ts"],
    ["a component", 'import { Agent } from "agents";\nexport const page = <p title="agents">from "agents"</p>;', "tsx"]
  ] as const)("%s", (_name, code, lang) => {
    const result = rewritten(code, lang);
    expect(result.code).toBe(code.replace(/(["`])agents\1/, "$1everthink/agent$1"));
    expect(result.missing).toEqual([]);
    // What was rewritten is still code.
    parseAst(result.code, { lang });
  });

  test.each([
    'const text = "agents";',
    'const code = `import { Agent } from "agents";`;',
    '// import "agents";\n/* import("agents") */',
    'const page = { from: "agents" };',
    'load("agents");',
    'export const note = `\n/// <reference types="agents" />\n`;',
    'import { Agent } from "./agents";',
    'import { Agent } from "agents-of-mine";'
  ])("%s stays", (code) => {
    expect(rewritten(code, "ts")).toMatchObject({ code, missing: [], computed: [] });
  });

  test("a name that is put together is shown with its line", () => {
    const code = 'const one = 1;\nawait import(`agents/${one}`);\nrequire("agents" + one);\nimport(`./${one}`);\n';
    expect(rewritten(code, "ts")).toMatchObject({ code, computed: [2, 3] });
  });
});

test("names without a counterpart are listed with their line, whatever they are called here", () => {
  const code = `import {
  Agent,
  McpAgent as Base
} from "agents";
import everything, { callable } from "agents";
export { Gone } from "agents";
let one: import("agents").Old.Inner;
`;
  const listed = (text: string) => rewritten(text, "ts").missing.map(({ name, line }) => `${name} ${line}`);
  expect(listed(code)).toEqual(["McpAgent 4", "default 5", "Gone 6", "Old 7"]);
  // Until they are mended, also after the imports were changed.
  expect(listed(rewritten(code, "ts").code)).toEqual(listed(code));
});

test("names are read off the declarations of a module", () => {
  const file = join(scratch, "names.d.ts");
  writeFileSync(
    file,
    "declare class A {}\nexport declare const b: 1, c: 2;\nexport interface D {}\nexport { A as E, type D as F };\nexport default A;\n"
  );
  const parse = (code: string) => parseAst(code, { lang: "dts" });
  expect([...(exportedNames(file, parse) ?? [])].sort()).toEqual(["D", "E", "F", "b", "c", "default"]);
  expect(exportedNames(join(scratch, "nothing.d.ts"), parse)).toBeUndefined();
});

describe("what has to be looked at is listed with file and line", () => {
  test("modules, names, other kinds of files, generated types and files that are no code", () => {
    const { notes, changed } = planned("notes", {
      "src/a.ts": '\nimport { McpAgent } from "agents/mcp";\nimport { AIChatAgent } from "@cloudflare/ai-chat";\n',
      "src/b.ts": 'import { Gone } from "agents";\n',
      "src/page.vue": '<script>\nimport { useAgent } from "agents/react";\n</script>\n',
      "src/broken.ts": 'import { Agent } from "agents";\nconst = 3;\n',
      "src/moved.ts": 'import { Gone } from "everthink/agent";\n',
      "src/moved.vue": '<script>\nimport { useThink } from "everthink/react";\n</script>\n',
      "think.d.ts": 'declare module "virtual:think/entry" {}\n',
      "everthink.d.ts": generateThinkTypes(discoverThinkApp({ files: ["agents/a.ts"] }))
    });
    expect(notes).toEqual([
      'src/a.ts:2: "agents/mcp" has no counterpart in everthink',
      expect.stringMatching(
        /^src\/a\.ts:3: "@cloudflare\/ai-chat" has no counterpart in everthink; extend Think of "everthink"/
      ),
      'src/b.ts:1: Gone of "agents" has no counterpart in everthink',
      expect.stringMatching(/^src\/broken\.ts:2: it cannot be parsed and was left alone: .+/),
      'src/moved.ts:1: Gone is not in "everthink/agent"',
      "src/page.vue:2: imports in a file of this kind are not changed: look at this one",
      "think.d.ts:1: the original generated it: delete it and run everthink types, which writes everthink.d.ts"
    ]);
    expect(Object.keys(changed)).toEqual(["src/b.ts"]);
  });
});

test("agents/vite may stay: the command says so and exits 0, and the package stays listed", () => {
  const { notes, changed, isWhole } = planned("vite", {
    "package.json": '{ "dependencies": { "agents": "1", "@cloudflare/think": "1" } }',
    "vite.config.ts": 'import agents from "agents/vite";\nexport default { plugins: [agents()] };\n',
    "src/server.ts": 'import { Think } from "@cloudflare/think";\n'
  });
  expect(notes).toEqual([expect.stringMatching(/^vite\.config\.ts:1: "agents\/vite" is left as it is.*works/)]);
  expect(isWhole).toBe(true);
  expect(Object.keys(changed)).toEqual(["src/server.ts", "package.json"]);
  expect(JSON.parse(changed["package.json"] ?? "")).toEqual({ dependencies: { agents: "1", everthink: "^1.2.3" } });
});

describe("package.json keeps its form", () => {
  const manifest = {
    name: "x",
    dependencies: { agents: "1", ai: "6", "@cloudflare/think": "1" },
    devDependencies: { agents: "1" },
    scripts: { dev: "vite" }
  };
  const moved = {
    name: "x",
    dependencies: { ai: "6", everthink: "^1.2.3" },
    devDependencies: { everthink: "^1.2.3" },
    scripts: { dev: "vite" }
  };

  test.each([
    ["tabs", "\t", "\n"],
    ["4 spaces", "    ", "\n"],
    ["3 spaces", "   ", "\n"],
    ["2 spaces", "  ", "\n"],
    ["CRLF", "  ", "\r\n"],
    ["CRLF and tabs", "\t", "\r\n"]
  ])("%s", (_name, indentation, lineEnd) => {
    const text = (value: object) => `${JSON.stringify(value, null, indentation)}\n`.replaceAll("\n", lineEnd);
    expect(moveManifest(text(manifest), [], "1.2.3")).toBe(text(moved));
  });

  test("one line", () => {
    expect(moveManifest(JSON.stringify(manifest), [], "1.2.3")).not.toContain("\n");
    expect(JSON.parse(moveManifest(JSON.stringify(manifest), [], "1.2.3"))).toEqual(moved);
  });
});

describe("files that are no modules", () => {
  test("tsconfig.json: types are renamed, and what it extends keeps its package", () => {
    const { changed } = planned("tsconfig", {
      "package.json": '{ "dependencies": { "agents": "1", "@cloudflare/think": "1" } }',
      "tsconfig.json":
        '{\n  // kept\n  "extends": "agents/tsconfig",\n  "compilerOptions": { "types": ["agents/agent-tools", "node"] }\n}\n',
      "src/server.ts": 'import { Think } from "@cloudflare/think";\n'
    });
    expect(changed["tsconfig.json"]).toBe(
      '{\n  // kept\n  "extends": "agents/tsconfig",\n  "compilerOptions": { "types": ["everthink/agent-tools", "node"] }\n}\n'
    );
    expect(JSON.parse(changed["package.json"] ?? "")).toEqual({ dependencies: { agents: "1", everthink: "^1.2.3" } });
  });

  test("a virtual entry is renamed in every form of Wrangler's file and in each environment, and nothing else", () => {
    const rest = '"migrations": [{ "tag": "v1", "new_sqlite_classes": ["ThinkAgent_Support"] }]';
    const { changed } = planned("wrangler", {
      "wrangler.jsonc": `{ "main": "virtual:think/entry", "env": { "staging": { "main": "virtual:think/entry" } }, ${rest} }`,
      "other/wrangler.toml": 'name = "virtual:think/entry"\nmain = "virtual:think/entry"\n'
    });
    expect(changed["wrangler.jsonc"]).toBe(
      `{ "main": "virtual:everthink/entry", "env": { "staging": { "main": "virtual:everthink/entry" } }, ${rest} }`
    );
    expect(changed["other/wrangler.toml"]).toBe('name = "virtual:think/entry"\nmain = "virtual:everthink/entry"\n');
  });

  test("each package.json of a workspace loses what nothing below it imports, and an everthink that is there stays", () => {
    const { changed } = planned("workspace", {
      "package.json": '{ "devDependencies": { "agents": "1" } }',
      "apps/page/package.json": '{ "dependencies": { "agents": "1" } }',
      "apps/page/page.tsx": 'import { useAgent } from "agents/react";\n',
      "apps/worker/package.json":
        '{ "dependencies": { "agents": "1", "everthink": "file:../x" }, "peerDependencies": { "@cloudflare/think": "1" } }',
      "apps/worker/server.ts": 'import { Agent } from "agents";\n'
    });
    const parsed = (file: string) => JSON.parse(changed[file] ?? "{}") as unknown;
    expect(parsed("package.json")).toEqual({ devDependencies: { agents: "1", everthink: "^1.2.3" } });
    expect(parsed("apps/page/package.json")).toEqual({ dependencies: { agents: "1", everthink: "^1.2.3" } });
    expect(parsed("apps/worker/package.json")).toEqual({
      dependencies: { everthink: "file:../x" },
      peerDependencies: { everthink: "^1.2.3" }
    });
  });
});

test("a Wrangler file that cannot be parsed stays as it is", () => {
  const { changed } = planned("broken-wrangler", { "wrangler.jsonc": '{ "main": "virtual:think/entry", "name" }' });
  expect(changed).toEqual({});
});

test("a package stays listed where an import that is only known when it runs may need it", () => {
  const files = (code: string) => ({
    "package.json": '{ "dependencies": { "agents": "1", "@cloudflare/think": "1" } }',
    "src/server.ts": `import { Think } from "@cloudflare/think";\n${code}\n`
  });
  const dependencies = (code: string, name: string) =>
    (JSON.parse(planned(name, files(code)).changed["package.json"] ?? "{}") as { dependencies: object }).dependencies;
  expect(dependencies("export const load = (part: string) => import(`agents/${part}`);", "computed")).toEqual({
    agents: "1",
    "@cloudflare/think": "1",
    everthink: "^1.2.3"
  });
  expect(dependencies("export const load = () => import('./other.ts');", "not-computed")).toEqual({
    everthink: "^1.2.3"
  });
});

test("a difference is one that patch applies", () => {
  const before = Array.from({ length: 40 }, (_, index) => `line ${index}`);
  const after = before.flatMap((line, index) =>
    index === 3 ? [] : index === 20 ? ["new", line] : index === 39 ? ["end"] : [line]
  );
  const [old, now] = [before, after].map((lines) => `${lines.join("\n")}\n`) as [string, string];
  const folder = mkdtempSync(join(scratch, "patch-"));
  writeFileSync(join(folder, "a.txt"), old);
  const difference = unifiedDifference({ file: "a.txt", before: old, after: now });
  expect(difference.match(/^@@ .*/gm)).toEqual(["@@ -1,7 +1,6 @@", "@@ -18,6 +17,7 @@", "@@ -37,4 +37,4 @@"]);
  const { status } = spawnSync("git", ["apply", "-"], { cwd: folder, input: `${difference}\n` });
  expect(status).toBe(0);
  expect(readFileSync(join(folder, "a.txt"), "utf8")).toBe(now);
});

test("every module that has a counterpart is one that this package exports", () => {
  const { exports } = JSON.parse(readFileSync(join(TAKEOVER, "../../package.json"), "utf8")) as { exports: object };
  const exported = new Set(Object.keys(exports));
  const named = ["agent-tools", "chat-sdk", "observability", "sessions", "skills", "skills-module", "workflows"].map(
    (name) => `agents/${name}`
  );
  // Of the published README.
  const documented = [
    "",
    "/framework",
    "/server-entry",
    "/messengers",
    "/messengers/telegram",
    "/tools/workspace",
    "/vite"
  ];
  const more = ["/tools/execute", "/tools/extensions", "/extensions", "/workflows"];
  for (const specifier of [...named, "agents", ...[...documented, ...more].map((name) => `@cloudflare/think${name}`)]) {
    expect(verdictOn(specifier, exported), specifier).toEqual({ to: expect.stringMatching(/^everthink(\/|$)/) });
  }
});

test("virtual entries get our name, and published clients stay", () => {
  expect(verdictOn("virtual:think/entry", EXPORTED)).toEqual({ to: "virtual:everthink/entry" });
  expect(verdictOn("agents/client", EXPORTED)).toBe("keep");
  // A schema and a prompt for a model, which touch no agent.
  expect(verdictOn("agents/schedule", EXPORTED)).toBe("keep");
  expect(verdictOn("react", EXPORTED)).toBe("keep");
});

test("without --write a project is shown its difference and left as it was", async () => {
  const folder = project("shown");
  const before = readFileSync(join(folder, "src/server.ts"), "utf8");
  const { isWhole, output } = await migrated(folder);
  expect(isWhole).toBe(true);
  expect(output).toContain('-import { action, Think, type Session } from "@cloudflare/think";');
  expect(output).toContain('+import { action, Think, type Session } from "everthink";');
  expect(output).toContain('-    "@cloudflare/think": "0.23.0",');
  expect(output).toMatch(/2 files would change\. Make the changes: everthink migrate --write\nNo local data was found/);
  expect(readFileSync(join(folder, "src/server.ts"), "utf8")).toBe(before);
});

test("with --write imports and dependencies change; Wrangler's classes, bindings and migrations do not", async () => {
  const folder = project("written");
  const wrangler = readFileSync(join(folder, "wrangler.jsonc"), "utf8");
  expect((await migrated(folder, { isWritten: true })).isWhole).toBe(true);
  const server = readFileSync(join(folder, "src/server.ts"), "utf8");
  expect(server).not.toMatch(/from "(?:@cloudflare\/think|agents)/);
  expect(server).toContain('import { agentTool } from "everthink/agent-tools";');
  const { dependencies } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { dependencies: object };
  expect(Object.keys(dependencies)).toEqual(["ai", "zod", "everthink"]);
  expect(readFileSync(join(folder, "wrangler.jsonc"), "utf8")).toBe(wrangler);
  expect((await migrated(folder)).output).toContain("No file needs a change.");
  const value = migrationValue(await migrate({ folder, isWritten: false, data: undefined, note: () => {} }));
  expect(value).toEqual({ isWhole: true, isWritten: false, changes: [], notes: [], objects: [] });
});

test("the virtual entry of Wrangler's configuration is renamed, and a package that is still used stays", async () => {
  const folder = project("virtual");
  writeFileSync(join(folder, "wrangler.jsonc"), '{\n  // kept\n  "main": "virtual:think/entry"\n}\n');
  writeFileSync(
    join(folder, "src/page.tsx"),
    'import { useAgent } from "agents/react";\nexport const page = <a>{useAgent.name}</a>;\n'
  );
  await migrated(folder, { isWritten: true });
  expect(readFileSync(join(folder, "wrangler.jsonc"), "utf8")).toBe(
    '{\n  // kept\n  "main": "virtual:everthink/entry"\n}\n'
  );
  expect(readFileSync(join(folder, "package.json"), "utf8")).toContain('"agents": "0.32.0"');
});

test("local data is tried on a copy: per object rows found, carried, left", async () => {
  const folder = project("data");
  const objects = join(folder, ".wrangler/state/v3/do/support-desk-Assistant");
  objectFile(objects, "layout-b/Assistant.full");
  const bytes = () => readFileSync(join(objects, `${"a".repeat(64)}.sqlite`), "latin1");
  const before = bytes();
  const { isWhole, output } = await migrated(folder);
  expect(isWhole).toBe(true);
  expect(output).toMatch(/support-desk-Assistant\/a{12}…\n {2}state +1 found, 1 carried, 0 left/);
  expect(output).toContain("1 object would be taken over, 0 refused.");
  // Not compared by the assertion, which would take seconds for the difference.
  expect(bytes() === before).toBe(true);
});

test("an object that would be refused ends the command with 1, and is named with its rows", async () => {
  objectFile(join(scratch, "refused/everthink-Assistant"), "layout-b/Assistant.files");
  const { isWhole, output } = await migrated(project("refusing"), { data: [join(scratch, "refused")] });
  expect(isWhole).toBe(false);
  expect(output).toContain("everthink-Assistant/aaaaaaaaaaaa…: would be refused");
  expect(output).toMatch(/files +1 row: files in the file system of the newer layout/);
  expect(output).toContain("0 objects would be taken over, 1 refused.");
  expect(output).toContain('give it up in the class: static options = { allowLossyTakeover: ["files"] }');
  const alone = await migrated(join(scratch, "refused"), { data: [join(scratch, "refused")] });
  expect(alone).toMatchObject({ isWhole: false, output: expect.not.stringContaining("No file needs a change.") });
});
