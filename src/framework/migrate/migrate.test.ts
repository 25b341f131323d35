// What `everthink migrate` shows and changes, on a project written for the original and on data that it wrote.
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { parseAst } from "rolldown/parseAst";
import { afterAll, expect, test } from "vitest";
import { migrate } from "./migrate.ts";
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
  const lines: string[] = [];
  const { isWritten = false, data } = options;
  const isWhole = await migrate({ folder, isWritten, data, print: (line) => void lines.push(line), note: () => {} });
  return { isWhole, output: lines.join("\n") };
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
  database.exec(readFileSync(join(TAKEOVER, "fixtures", `${fixture}.sql`), "utf8"));
  database.close();
}

const rewritten = (code: string) =>
  rewriteModule(code, parseAst(code, { lang: "tsx" }), (specifier) => verdictOn(specifier, EXPORTED));

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

test("what has no counterpart is listed with its line and left alone", () => {
  const before = `import { Think } from "@cloudflare/think";\n\nimport { createX402Client } from "agents/x402";\n`;
  const { code, missing } = rewritten(before);
  expect(missing).toEqual([{ specifier: "agents/x402", line: 3 }]);
  expect(code).toContain('"agents/x402"');
});

test("virtual entries get our name, and published clients stay", () => {
  expect(verdictOn("virtual:think/entry", EXPORTED)).toEqual({ to: "virtual:everthink/entry" });
  expect(verdictOn("agents/client", EXPORTED)).toBe("keep");
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
  const before = readFileSync(join(objects, `${"a".repeat(64)}.sqlite`));
  const { isWhole, output } = await migrated(folder);
  expect(isWhole).toBe(true);
  expect(output).toMatch(/support-desk-Assistant\/a{12}…\n {2}state +1 found, 1 carried, 0 left/);
  expect(output).toContain("1 objects would be taken over, 0 refused.");
  expect(readFileSync(join(objects, `${"a".repeat(64)}.sqlite`))).toEqual(before);
});

test("an object that would be refused ends the command with 1, and is named with its rows", async () => {
  objectFile(join(scratch, "refused/everthink-Assistant"), "layout-b/Assistant.files");
  const { isWhole, output } = await migrated(project("refusing"), { data: [join(scratch, "refused")] });
  expect(isWhole).toBe(false);
  expect(output).toContain("everthink-Assistant/aaaaaaaaaaaa…: would be refused");
  expect(output).toMatch(/files +1 rows: files in the file system of the newer layout/);
  expect(output).toContain("0 objects would be taken over, 1 refused.");
});
