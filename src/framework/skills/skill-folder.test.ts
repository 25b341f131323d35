import { rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, describe, expect, test } from "vitest";
import { skillFile } from "../../features/skills/skills.test-support.ts";
import { compileSkillScript, isCompilableSkillScript } from "./compile-script.ts";
import { SkillFolderError } from "./errors.ts";
import { readSkillFolder } from "./skill-folder.ts";
import { folderOf, repository, write, type Tree } from "./skill-folder.test-support.ts";

const made: string[] = [];
afterEach(() => {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function newFolder(files: Tree, prefix?: string): string {
  const folder = folderOf(files, prefix);
  made.push(folder);
  return folder;
}

/** Packages are those of the repository. */
const read = (folder: string, root = repository) => readSkillFolder(folder, { root, wantedBy: "a test" });

const TYPED = {
  "greet/SKILL.md": skillFile("greet"),
  "greet/scripts/run.ts": `import { shout } from "./lib/shout.ts";\nexport default (input: { name: string }): string => shout(input.name);`,
  "greet/scripts/lib/shout.ts": `export const shout = (text: string): string => text.toUpperCase();`
};

describe("a folder of skills becomes a manifest", () => {
  test("sorted, with its resources, and with the path from the project as the id", async () => {
    const root = newFolder({
      "src/skills/zeta/SKILL.md": skillFile("zeta"),
      "src/skills/alpha/SKILL.md": skillFile("alpha", "Be brief."),
      "src/skills/alpha/references/b.md": "B",
      "src/skills/alpha/references/a.md": "A",
      "src/skills/alpha/assets/logo.png": Uint8Array.of(0, 1, 255),
      "src/skills/not-a-skill/readme.md": "x"
    });
    const { manifest, warnings, files } = await read(join(root, "src/skills"), root);
    expect(warnings).toEqual([]);
    expect(manifest.id).toBe("bundle:src/skills");
    expect(manifest.skills.map(({ name }) => name)).toEqual(["alpha", "zeta"]);
    expect(manifest.skills[0]).toMatchObject({ description: "What alpha is for.", body: "Be brief." });
    expect(manifest.skills[0]?.resources).toEqual([
      { path: "assets/logo.png", kind: "asset", size: 3, encoding: "base64", mimeType: "image/png", content: "AAH/" },
      {
        path: "references/a.md",
        kind: "reference",
        size: 1,
        encoding: "text",
        mimeType: "text/markdown",
        content: "A"
      },
      { path: "references/b.md", kind: "reference", size: 1, encoding: "text", mimeType: "text/markdown", content: "B" }
    ]);
    expect(files).toContain(join(root, "src/skills/alpha/references/a.md"));
  });

  test("with every file it has, wherever it is, but for what tools keep beside them", async () => {
    const files = {
      "pack/LICENSE.txt": "free",
      "pack/forms.md": "# Forms",
      "pack/.hint": "x",
      "pack/themes/dark/colors.json": "{}",
      "pack/core/lib.py": "x = 1",
      "pack/build/tool.js": "export default 1",
      "pack/scripts/dist/run.sh": "echo",
      "pack/references/a.md": "A"
    };
    const beside = { "pack/node_modules/x/index.js": "x", "pack/core/__pycache__/lib.pyc": "x", "pack/.git/HEAD": "x" };
    const { manifest, warnings } = await read(newFolder({ "pack/SKILL.md": skillFile("pack"), ...files, ...beside }));
    const resources = manifest.skills[0]?.resources ?? [];
    expect(Object.fromEntries(resources.map(({ path, content }) => [`pack/${path}`, content]))).toEqual(files);
    expect(resources.map(({ path }) => path)).toEqual(resources.map(({ path }) => path).toSorted());
    expect(warnings).toEqual([]);
  });

  test("scripts are compiled to one module without types and imports", async () => {
    const { manifest, warnings } = await read(newFolder(TYPED));
    const script = manifest.skills[0]?.resources?.find(({ path }) => path === "scripts/run.ts");
    expect(warnings).toEqual([]);
    expect(script).toMatchObject({ precompiled: true, encoding: "text", size: script?.content.length });
    expect(script?.content).toContain("toUpperCase");
    expect(script?.content).not.toMatch(/import|: string/);
  });

  test("the same tree has the same fingerprint elsewhere, and any byte changes it", async () => {
    const [one, two] = [newFolder(TYPED), newFolder(TYPED)];
    const first = await read(one, one);
    expect((await read(two, two)).manifest).toEqual(first.manifest);
    expect(first.manifest.fingerprint).toMatch(/^[\da-f]{64}$/);
    write(join(two, "greet/scripts/lib/shout.ts"), TYPED["greet/scripts/lib/shout.ts"].replace("Upper", "Lower"));
    expect((await read(two, two)).manifest.fingerprint).not.toBe(first.manifest.fingerprint);
  });

  test("a missing folder is an error that names it and what asked for it", async () => {
    const failure = readSkillFolder("/nowhere/skills", { root: "/nowhere", wantedBy: "/nowhere/agent.ts" });
    await expect(failure).rejects.toThrow(SkillFolderError);
    await expect(failure).rejects.toThrow("no folder of skills at /nowhere/skills, which /nowhere/agent.ts names");
  });
});

describe("what is wrong with one skill is a warning, and the others are there", () => {
  test.each<[string, Tree, RegExp]>([
    [
      "front matter that cannot be read",
      { "bad/SKILL.md": "---\nname: [\n---\n" },
      /^bad\/SKILL\.md:\d+: .*: left out$/
    ],
    ["no description", { "bad/SKILL.md": "---\nname: bad\n---\n" }, /^bad\/SKILL\.md:\d+: "description" is missing/],
    ["an oversize SKILL.md", { "bad/SKILL.md": "x".repeat(300_000) }, /^bad\/SKILL\.md is larger than/],
    ["a second of a name", { "later/SKILL.md": skillFile("good") }, /another skill is called "good": left out$/],
    ["a file of secrets", { "good/config/.env.local": "KEY=1" }, /^good\/config\/\.env\.local is left out: .* secrets/],
    ["a path that cannot be read back", { "good/a\\b.md": "x" }, /^good\/a\\b\.md is left out: its path/],
    [
      "a large asset",
      { "good/assets/a.bin": new Uint8Array(300_000) },
      /^good\/assets\/a\.bin has 300000 bytes, more than 262144: skills\.r2/
    ],
    [
      "50 MB",
      { "good/assets/a.bin": new Uint8Array(50_000_000) },
      /^good\/assets\/a\.bin is left out: it has 50000000 bytes, and a file may have 10485760: skills\.r2/
    ],
    ["a package that is not installed", { "good/scripts/a.js": 'import "nowhere"' }, /bundled as it is: .*"nowhere"/]
  ])("%s", async (_what, files, warning) => {
    const { manifest, warnings } = await read(newFolder({ "good/SKILL.md": skillFile("good"), ...files }));
    expect(manifest.skills.map(({ name }) => name)).toEqual(["good"]);
    expect(warnings.join("\n")).toMatch(new RegExp(warning, "m"));
  });

  test("skills of more than a megabyte are bundled, with a word on where they belong", async () => {
    const part = (letter: string) => [`good/references/${letter}.md`, letter.repeat(250_000)] as const;
    const files = Object.fromEntries(["a", "b", "c", "d", "e"].map(part));
    const { warnings } = await read(newFolder({ "good/SKILL.md": skillFile("good"), ...files }));
    expect(warnings).toEqual([
      expect.stringMatching(/^the skills have \d+ bytes together, more than 1048576: skills\.r2/)
    ]);
  });

  test("the sum is one of bytes, not of characters", async () => {
    const files = {
      "good/SKILL.md": skillFile("good"),
      "good/a.md": "…".repeat(80_000),
      "good/b.md": "…".repeat(80_000)
    };
    expect((await read(newFolder(files))).warnings).toEqual([]);
    const third = {
      ...files,
      "good/c.md": "…".repeat(80_000),
      "good/d.md": "…".repeat(80_000),
      "good/e.md": "…".repeat(80_000)
    };
    expect((await read(newFolder(third))).warnings.join()).toMatch(/^the skills have 12\d{5} bytes together/);
  });

  test("what does not fit into all together is left out and counted, and smaller files after it are there", async () => {
    const part = (name: string) => [`good/assets/${name}.bin`, new Uint8Array(10_000_000)] as const;
    const big = Object.fromEntries(["a", "b", "c", "d", "e"].map(part));
    const { manifest, warnings } = await read(
      newFolder({ "good/SKILL.md": skillFile("good"), ...big, "good/z.md": "z" })
    );
    const paths = manifest.skills[0]?.resources?.map(({ path }) => path);
    expect(paths).toEqual(["assets/a.bin", "assets/b.bin", "assets/c.bin", "z.md"]);
    expect(warnings.at(-1)).toMatch(
      /^good\/assets\/d\.bin and 1 more: left out, because all files together may have 33554432 bytes/
    );
  });
});

describe("a skill from elsewhere cannot carry other files into the program", () => {
  test("links that lead out of it are left out, and links within it are followed", async () => {
    const folder = newFolder({
      "secret.txt": "SECRET",
      "other/deep.md": "SECRET",
      "notes.md": skillFile("notes", "SECRET"),
      "skills/good/SKILL.md": skillFile("good"),
      "skills/good/references/real.md": "real",
      "skills/notes/references/a.md": "a",
      "elsewhere/shared/SKILL.md": skillFile("shared")
    });
    symlinkSync(join(folder, "notes.md"), join(folder, "skills/notes/SKILL.md"));
    // The project's own link to a whole skill.
    symlinkSync(join(folder, "elsewhere/shared"), join(folder, "skills/shared"));
    symlinkSync(join(folder, "secret.txt"), join(folder, "skills/good/references/file.md"));
    symlinkSync(join(folder, "other"), join(folder, "skills/good/references/folder"));
    symlinkSync(join(folder, "other"), join(folder, "skills/good/assets"));
    symlinkSync("real.md", join(folder, "skills/good/references/same.md"));
    symlinkSync(".", join(folder, "skills/good/references/loop"));
    const { manifest, warnings } = await read(join(folder, "skills"));
    expect(JSON.stringify(manifest)).not.toContain("SECRET");
    expect(manifest.skills[0]?.resources?.map(({ path }) => path)).toEqual([
      "references/real.md",
      "references/same.md"
    ]);
    expect(manifest.skills.map(({ name }) => name)).toEqual(["good", "shared"]);
    expect(warnings.filter((one) => one.includes("leads out of the skill"))).toHaveLength(4);
  });

  test.each([
    ["a relative path", `import data from "../../../secret.json"; export default () => data;`],
    ["an absolute path", `import data from "FOLDER/secret.json"; export default () => data;`],
    ["a link", `import data from "./linked.json"; export default () => data;`]
  ])("a script that imports another file by %s is not compiled", async (_how, source) => {
    const folder = newFolder({ "secret.json": '"SECRET"', "skills/good/SKILL.md": skillFile("good") });
    write(join(folder, "skills/good/scripts/run.js"), source.replace("FOLDER", folder));
    symlinkSync(join(folder, "secret.json"), join(folder, "skills/good/scripts/linked.json"));
    const { manifest, warnings } = await read(join(folder, "skills"));
    expect(JSON.stringify(manifest)).not.toContain("SECRET");
    expect(warnings.join("\n")).toContain("is not a file of the skill");
  });
});

describe("compileSkillScript", () => {
  test("brings installed packages into the module, for scripts that go to R2", async () => {
    const source = `import { parse } from "yaml";\nexport default (text: string): unknown => parse(text);`;
    const folder = newFolder({ "run.ts": source }, join(repository, ".tmp-skills-"));
    const { content, precompiled } = await compileSkillScript(join(folder, "run.ts"));
    expect(precompiled).toBe(true);
    write(join(folder, "run.mjs"), content);
    expect(content).not.toMatch(/^import /m);
    const { default: run } = (await import(pathToFileURL(join(folder, "run.mjs")).href)) as {
      default: (text: string) => unknown;
    };
    expect(run("a: 1")).toEqual({ a: 1 });
  });

  test("compiles for the language version it is asked for", async () => {
    const folder = newFolder({ "run.ts": "export default (a: number): number => a ** 2" });
    expect((await compileSkillScript(join(folder, "run.ts"), { target: "es2015" })).content).toContain("Math.pow");
    expect((await compileSkillScript(join(folder, "run.ts"))).content).toContain("**");
  });

  test("a file that is not there is a named error", async () => {
    await expect(compileSkillScript("/nowhere/run.ts")).rejects.toThrow(/run\.ts cannot be compiled/);
  });

  test.each([
    ["a.js", true],
    ["a.mjs", true],
    ["a.ts", true],
    ["a.tsx", true],
    ["a.py", false],
    ["a.sh", false],
    ["ts", false]
  ])("%s: %s", (path, expected) => {
    expect(isCompilableSkillScript(path)).toBe(expected);
  });
});
