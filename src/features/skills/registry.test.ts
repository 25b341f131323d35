import { asSchema } from "ai";
import { describe, expect, test } from "vitest";
import { byteLength } from "../../util/bytes.ts";
import { MAX_CATALOG_BYTES } from "./catalog.ts";
import { fromManifest } from "./manifest-source.ts";
import { SkillRegistry } from "./registry.ts";
import type { SkillScriptRequest, SkillScriptRunner } from "./scripts/script.ts";
import type { SkillDescriptor, SkillSource } from "./skill.ts";
import { manifestOf } from "./skills.test-support.ts";

const listing = (id: string, skills: SkillDescriptor[] = []): SkillSource & { failure?: Error } => {
  const source: SkillSource & { failure?: Error } = {
    id,
    fingerprint: "1",
    list: async () => {
      if (source.failure) throw source.failure;
      return skills;
    },
    load: async (name) => ({ name, description: "d", body: `${id} ${name}` })
  };
  return source;
};

async function call(registry: SkillRegistry, tool: string, input: unknown): Promise<unknown> {
  const { execute } = (await registry.tools())[tool] ?? {};
  return await execute?.(input, { toolCallId: "call", messages: [], context: {} });
}

async function accepts(registry: SkillRegistry, tool: string, input: unknown): Promise<boolean> {
  const checked = await asSchema((await registry.tools())[tool]!.inputSchema).validate?.(input);
  return checked?.success ?? false;
}

const described = (name: string, description = `What ${name} is for.`) => ({ name, description });

describe("sources", () => {
  test("the first source of a name has it; the warning names both and does not multiply", async () => {
    const registry = new SkillRegistry([
      listing("a", [described("x")]),
      listing("b", [described("x"), described("y")])
    ]);
    for (let time = 0; time < 3; time += 1) await registry.refresh();
    expect((await registry.loadSkill("x"))?.body).toBe("a x");
    expect((await registry.loadSkill("y"))?.body).toBe("b y");
    expect(registry.warnings).toEqual(['The skill "x" of "b" is skipped: "a" has it already.']);
    expect(registry.fingerprint).toBe("a:1\nb:1");
  });

  test("one that fails costs nothing of the others, and nothing of its own once it has listed", async () => {
    const failing = listing("a", [described("x")]);
    const registry = new SkillRegistry([failing, listing("b", [described("y")])]);
    failing.failure = new Error("down");
    await registry.load();
    expect(registry.skills.map(({ name }) => name)).toEqual(["y"]);
    expect(registry.warnings).toEqual(['The skill source "a" could not be listed: down']);
    delete failing.failure;
    await registry.refresh();
    expect(registry.warnings).toEqual([]);
    failing.failure = new Error("down again");
    await registry.refresh();
    expect(registry.skills.map(({ name }) => name)).toEqual(["x", "y"]);
    expect(await registry.systemPrompt()).toContain("- x: What x is for.");
  });

  test("a failing refresh is a warning", async () => {
    const source = { ...listing("a", [described("x")]), refresh: () => Promise.reject(new Error("no")) };
    const registry = new SkillRegistry([source]);
    await registry.refresh();
    expect(registry.warnings).toEqual(['The skill source "a" could not be refreshed: no']);
    expect(registry.skills).toHaveLength(1);
  });

  test("names that would break paths and lines are left out, and there are at most 500", async () => {
    const odd = [described("a/b"), described("a\nb"), described("")];
    const many = Array.from({ length: 600 }, (_, index) => described(`s${index}`));
    const registry = new SkillRegistry([listing("a", [...odd, ...many])]);
    await registry.load();
    expect(registry.skills).toHaveLength(500);
    expect(registry.warnings).toHaveLength(100);
  });
});

describe("the catalogue", () => {
  test("has every name and description and none of the bodies; without skills there is none", async () => {
    const registry = new SkillRegistry([fromManifest(manifestOf()), listing("b", [described("x", "two\n  lines")])]);
    const text = await registry.systemPrompt();
    expect(text).toMatch(/activate_skill/);
    expect(text).toContain("\n\n- greet: What greet is for.\n- x: two lines");
    expect(text).not.toContain("Instructions");
    expect(await new SkillRegistry([]).systemPrompt()).toBeNull();
    expect(await new SkillRegistry([listing("b")]).tools()).toEqual({});
  });

  test.each([
    [1, 300],
    [20, 300],
    [200, 300],
    [500, 1_024]
  ])("of %i skills with descriptions of %i characters is bounded and names them all", async (count, chars) => {
    const skills = Array.from({ length: count }, (_, index) => described(`skill-number-${index}`, "d".repeat(chars)));
    const text = (await new SkillRegistry([listing("a", skills)]).systemPrompt()) ?? "";
    expect(byteLength(text)).toBeLessThan(MAX_CATALOG_BYTES + 400);
    for (const { name } of skills) expect(text).toContain(`- ${name}`);
  });

  test("of names that alone do not fit says how many are missing", async () => {
    const skills = Array.from({ length: 500 }, (_, index) => described(`${index}-${"é".repeat(100)}`));
    const text = (await new SkillRegistry([listing("a", skills)]).systemPrompt()) ?? "";
    expect(byteLength(text)).toBeLessThan(MAX_CATALOG_BYTES + 400);
    expect(text).toMatch(/\(\d+ more\)$/);
  });
});

describe("activate_skill", () => {
  test("gives the instructions and lists each file once; markup cannot break out", async () => {
    const [skill] = manifestOf({ "scripts/run.ts": "x", "assets/a.bin": Uint8Array.of(0) }).skills;
    const body = "\nUse <b> & </skill_content>\n";
    const registry = new SkillRegistry([
      fromManifest({ id: "m", fingerprint: "1", skills: [{ ...skill!, version: '1"', body }] })
    ]);
    expect(await call(registry, "activate_skill", { name: "greet" })).toBe(
      [
        '<skill_content name="greet" version="1&quot;">',
        "Use <b> & &lt;/skill_content>",
        "",
        "<skill_resources>",
        '<file kind="script" encoding="text" mimeType="application/typescript" size="1">scripts/run.ts</file>',
        '<file kind="asset" encoding="base64" size="1">assets/a.bin</file>',
        "</skill_resources>",
        "</skill_content>"
      ].join("\n")
    );
  });

  test("takes no name that is not listed; one that vanished, or a source that throws, is a sentence", async () => {
    const gone = { ...listing("a", [described("x"), described("y")]), load: async (): Promise<null> => null };
    const registry = new SkillRegistry([gone]);
    expect(await accepts(registry, "activate_skill", { name: "x" })).toBe(true);
    expect(await accepts(registry, "activate_skill", { name: "z" })).toBe(false);
    expect(await call(registry, "activate_skill", { name: "x" })).toBe("Skill not found: x");
    const broken = { ...gone, load: () => Promise.reject(new Error("boom")) };
    expect(await call(new SkillRegistry([broken]), "activate_skill", { name: "x" })).toContain("boom");
  });

  test("cuts endless instructions and says where the rest is", async () => {
    const [skill] = manifestOf().skills;
    const body = "x".repeat(100_000);
    const registry = new SkillRegistry([fromManifest({ id: "m", fingerprint: "1", skills: [{ ...skill!, body }] })]);
    const text = String(await call(registry, "activate_skill", { name: "greet" }));
    expect(text.length).toBeLessThan(41_000);
    expect(text).toContain("greet/SKILL.md");
    expect(await call(registry, "read_skill_resource", { path: "greet/SKILL.md" })).toContain(body);
  });
});

describe("read_skill_resource", () => {
  const registry = new SkillRegistry([
    fromManifest(
      manifestOf({
        "references/guide.md": "one\ntwo\nthree\n</skill_resource>",
        "assets/a.png": Uint8Array.of(0x89, 0),
        "assets/large.bin": new Uint8Array(70_000),
        "references/large.txt": "y".repeat(300_000)
      })
    ),
    listing("plain", [described("plain")])
  ]);
  const read = (input: object) => call(registry, "read_skill_resource", input);

  test("takes a name and a path, or a path that begins with the skill", async () => {
    const expected =
      '<skill_resource name="greet" path="references/guide.md" kind="reference" encoding="text" mimeType="text/markdown">\none\ntwo\nthree\n&lt;/skill_resource>\n</skill_resource>';
    expect(await read({ name: "greet", path: "references/guide.md" })).toBe(expected);
    expect(await read({ path: "greet/references/guide.md" })).toBe(expected);
    expect(await read({ name: "greet", path: "references/guide.md", offset: 2, limit: "1" })).toContain(
      "\ntwo\n[Lines 2 to 2 of 4]\n"
    );
  });

  test("binary comes back as base64 with its type, unless it is large", async () => {
    expect(await read({ path: "greet/assets/a.png" })).toContain('encoding="base64" mimeType="image/png">\niQA=\n');
    expect(await read({ path: "greet/assets/large.bin" })).toMatch(/70\d{3} bytes: too large/);
    expect(String(await read({ path: "greet/references/large.txt" })).length).toBeLessThan(201_000);
  });

  test.each([
    [{ name: "greet", path: "../other/x.md" }, "cannot leave its skill"],
    [{ name: "greet", path: "/etc/passwd" }, "normalized relative path"],
    [{ name: "greet", path: "a/../b" }, "normalized relative path"],
    [{ name: "greet", path: "a\0b" }, "normalized relative path"],
    [{ name: "greet", path: "./a" }, "normalized relative path"],
    [{ path: "guide.md" }, "Name the skill"],
    [{ path: "nobody/guide.md" }, 'no skill "nobody"'],
    [{ name: "nobody", path: "a.md" }, "Skill not found: nobody"],
    [{ name: "plain", path: "a.md" }, 'Skill "plain" has no readable resources.'],
    [{ name: "greet", path: "references/none.md" }, "Resource not found: greet/references/none.md"]
  ])("%j is refused with a sentence", async (input, sentence) => {
    expect(await read(input)).toContain(sentence);
  });

  test("a resource of 50 MB is refused by its size", async () => {
    const big: SkillSource = {
      ...listing("a", [described("x")]),
      load: async () => ({
        ...described("x"),
        body: "",
        resources: [{ path: "assets/big.bin", kind: "asset", size: 50 * 1024 * 1024 }]
      }),
      readResource: () => Promise.reject(new Error("must not be asked"))
    };
    expect(await call(new SkillRegistry([big]), "read_skill_resource", { path: "x/assets/big.bin" })).toContain(
      "52428800 bytes"
    );
  });
});

describe("run_skill_script", () => {
  const runs: SkillScriptRequest[] = [];
  let answer: () => unknown = () => "done";
  const runner: SkillScriptRunner = {
    run: async (request) => {
      runs.push(request);
      return answer();
    }
  };
  const files = {
    "scripts/run.js": "source",
    "scripts/notes.txt": "n",
    "references/a.md": "a",
    "assets/b": Uint8Array.of(0)
  };
  const manifest = manifestOf(files);
  const [first] = manifest.skills;
  const fake = { path: "scripts/fake.js", kind: "file", content: "x" } as const;
  const skill = { ...first!, resources: [...(first?.resources ?? []), fake] };
  const registry = new SkillRegistry([fromManifest({ ...manifest, skills: [skill] })], runner);
  const run = (input: object) => call(registry, "run_skill_script", input);

  test("is there only with a runner", async () => {
    expect(Object.keys(await registry.tools())).toEqual(["activate_skill", "read_skill_resource", "run_skill_script"]);
    expect(Object.keys(await new SkillRegistry([fromManifest(manifest)]).tools())).not.toContain("run_skill_script");
  });

  test("hands the script, its input and every file of its skill to the runner", async () => {
    runs.length = 0;
    expect(await run({ name: "greet", path: "scripts/run.js" })).toBe("done");
    expect(runs[0]).toMatchObject({ path: "scripts/run.js", source: "source", input: {}, toolCallId: "call" });
    expect(runs[0]?.resources?.map(({ path }) => path)).toEqual([
      "scripts/run.js",
      "scripts/notes.txt",
      "references/a.md",
      "assets/b",
      "scripts/fake.js"
    ]);
    await run({ name: "greet", path: "scripts/run.js", input: [1] });
    expect(runs[1]?.input).toEqual([1]);
  });

  test.each([
    [{ name: "greet", path: "references/a.md" }, "must begin with scripts/"],
    [{ name: "greet", path: "scripts/../x.js" }, "normalized"],
    [{ name: "greet", path: "scripts/notes.txt" }, "must end in one of .js .mjs .ts .tsx .py .sh .bash"],
    [{ name: "nobody", path: "scripts/run.js" }, "Skill not found: nobody"],
    [{ name: "greet", path: "scripts/none.js" }, "Script not found: greet/scripts/none.js"],
    [{ name: "greet", path: "scripts/fake.js" }, "Resource is not a script"]
  ])("%j is refused before the runner is asked", async (input, sentence) => {
    runs.length = 0;
    expect(await run(input)).toContain(sentence);
    expect(runs).toEqual([]);
  });

  test("what the runner throws is a sentence, and a long result is cut, its files apart", async () => {
    answer = () => Promise.reject(new Error("broke"));
    expect(await run({ name: "greet", path: "scripts/run.js" })).toBe("Skill script failed: broke");
    const outputFiles = [{ path: "a", encoding: "text", content: "f".repeat(60_000) }];
    answer = () => ({ result: "r".repeat(200_000), outputFiles });
    const result = await run({ name: "greet", path: "scripts/run.js" });
    expect(result).toMatchObject({ outputFiles });
    expect(JSON.stringify(result).length).toBeLessThan(130_000);
  });

  test("files that do not fit are left out, and the result names them", async () => {
    answer = () => "done";
    runs.length = 0;
    const big: SkillSource = {
      ...listing("a", [described("x")]),
      load: async () => ({
        ...described("x"),
        body: "",
        resources: [
          { path: "scripts/run.js", kind: "script" },
          { path: "assets/big.bin", kind: "asset", size: 50 * 1024 * 1024 }
        ]
      }),
      readResource: async (_name, path) => ({ path, kind: "script", content: "s" })
    };
    const input = { name: "x", path: "scripts/run.js" };
    expect(await call(new SkillRegistry([big], runner), "run_skill_script", input)).toEqual({
      result: "done",
      skippedFiles: ["assets/big.bin"]
    });
    expect(runs[0]?.resources).toHaveLength(1);
  });
});
