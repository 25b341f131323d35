// The import in the bundlers and the dev server it is for, and the file that builds without Vite are given.
import { rmSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { rolldown } from "rolldown";
import { createServer } from "vite";
import { afterEach, expect, test, vi } from "vitest";
import type { SkillSource } from "../../features/skills/index.ts";
import { skillFile } from "../../features/skills/skills.test-support.ts";
import { buildSkills } from "./build-command.ts";
import { skillsImport } from "./skills-import.ts";
import { folderOf, repository, write, type Tree } from "./skill-folder.test-support.ts";

// A dev server and bundlers start, on a machine that may be busy.
vi.setConfig({ testTimeout: 60_000 });

const made: string[] = [];
afterEach(() => {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function project(files: Tree): string {
  const folder = folderOf(files);
  made.push(folder);
  return folder;
}

const alias = { "everthink/skills": join(repository, "src/features/skills/manifest-source.ts") };

interface Agent {
  skills: SkillSource;
  more?: SkillSource;
}

const FILES = {
  "src/agent.ts": `export { default as skills } from "everthink:skills";\nexport { default as more } from "agents:skills/more";`,
  "src/skills/greet/SKILL.md": skillFile("greet"),
  "src/skills/greet/scripts/run.ts": "export default (input: string): string => input;",
  "src/more/farewell/SKILL.md": skillFile("farewell")
};

async function bundle(root: string): Promise<{ agent: Agent; warnings: string[] }> {
  const warnings: string[] = [];
  const plugin = skillsImport();
  plugin.configResolved({ root });
  const build = await rolldown({
    input: join(root, "src/agent.ts"),
    platform: "node",
    resolve: { alias },
    plugins: [plugin],
    onLog: (_level, log) => void warnings.push(log.message)
  });
  const { output } = await build.generate({ format: "esm" });
  await build.close();
  for (const one of output) if (one.type === "chunk") write(join(root, "out", one.fileName), one.code);
  write(join(root, "out/package.json"), '{ "type": "module" }');
  return { agent: (await import(pathToFileURL(join(root, "out/agent.js")).href)) as Agent, warnings };
}

test("the import is the folder beside the file, and another sibling by name", async () => {
  const root = project({ ...FILES, "src/skills/broken/SKILL.md": "no front matter" });
  const { agent, warnings } = await bundle(root);
  expect(agent.skills.id).toBe("bundle:src/skills");
  expect(await agent.skills.list()).toEqual([
    { name: "greet", description: "What greet is for.", sourceId: "bundle:src/skills" }
  ]);
  expect(await agent.skills.readResource?.("greet", "scripts/run.ts")).toMatchObject({ precompiled: true });
  expect(await agent.more?.list()).toMatchObject([{ name: "farewell" }]);
  expect(warnings.join("\n")).toContain("[skills] broken/SKILL.md:1");
});

test("a folder that is missing stops the build with its path and the importing file", async () => {
  const root = project({ "src/agent.ts": FILES["src/agent.ts"] });
  await expect(bundle(root)).rejects.toThrow(
    `There is no folder of skills at ${join(root, "src/skills")}, which ${join(root, "src/agent.ts")} names.`
  );
});

test("other imports are left alone", () => {
  const { resolveId } = skillsImport();
  for (const id of ["everthink", "everthink/skills", "everthink:skillset", "./everthink:skills"])
    expect(resolveId(id, "/src/agent.ts")).toBeUndefined();
});

test("the dev server shows a skill that was changed, and one that is new", async () => {
  const root = project({ ...FILES, "src/agent.ts": `export { default as skills } from "everthink:skills";` });
  const server = await createServer({
    root,
    configFile: false,
    logLevel: "silent",
    appType: "custom",
    server: { middlewareMode: true, ws: false },
    resolve: { alias },
    plugins: [skillsImport()]
  });
  try {
    const names = async () => {
      const { skills } = (await server.ssrLoadModule("/src/agent.ts")) as Agent;
      return (await skills.list()).map(({ name, description }) => `${name}: ${description}`);
    };
    expect(await names()).toEqual(["greet: What greet is for."]);
    write(join(root, "src/skills/greet/SKILL.md"), skillFile("greet", "Body", "New words."));
    await vi.waitFor(async () => expect(await names()).toEqual(["greet: New words."]), 20_000);
    write(join(root, "src/skills/added/SKILL.md"), skillFile("added"));
    await vi.waitFor(async () => expect(await names()).toContain("added: What added is for."), 20_000);
  } finally {
    await server.close();
  }
});

test("everthink skills build writes the same source as a file", async () => {
  const root = project(FILES);
  const { summary, warnings } = await buildSkills({ folder: "src/skills", output: "src/skills.generated.ts" }, root);
  expect({ summary, warnings }).toEqual({ summary: "src/skills.generated.ts: greet", warnings: [] });
  const code = readFileSync(join(root, "src/skills.generated.ts"), "utf8");
  expect(code).toContain('import { fromManifest } from "everthink/skills";');
  write(join(root, "src/agent.ts"), `export { default as skills } from "./skills.generated.ts";`);
  const { agent } = await bundle(root);
  const plugged = project(FILES);
  const { agent: imported } = await bundle(plugged);
  expect(agent.skills.fingerprint).toBe(imported.skills.fingerprint);
  await buildSkills({ folder: "src/skills", output: "made/new/skills.ts" }, root);
  expect(readFileSync(join(root, "made/new/skills.ts"), "utf8")).toBe(code);
  await buildSkills({ folder: "src/skills", output: "src/skills.generated.ts" }, root);
  expect(readFileSync(join(root, "src/skills.generated.ts"), "utf8")).toBe(code);
});
