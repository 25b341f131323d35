// Scripts of skills in JavaScript and TypeScript, in isolates that workerd loads, and what a hostile one can do there.
import { env } from "cloudflare:workers";
import { tool } from "ai";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import type { IsolateLoader } from "../../src/sandbox/isolate.ts";
import { encodeText } from "../../src/util/bytes.ts";
import { resourceOf } from "../../src/features/skills/resource.ts";
import { runner, type SkillRunnerOptions } from "../../src/features/skills/scripts/runner.ts";
import type { SkillScriptRequest } from "../../src/features/skills/scripts/script.ts";

// Parsers are transformed and loaded on first use.
vi.setConfig({ testTimeout: 60_000 });

const loader = Reflect.get(env, "LOADER") as IsolateLoader;
const skill = { name: "greet", description: "d", body: "SECRET BODY", metadata: { version: "3" } };

type Files = Record<string, string | Uint8Array>;

function run(
  source: string,
  options: SkillRunnerOptions = {},
  rest: Partial<SkillScriptRequest> & { files?: Files } = {}
) {
  const { files = {}, path = "scripts/run.js", ...request } = rest;
  const resources = Object.entries({ [path]: source, ...files }).map(([name, content]) =>
    resourceOf(name, typeof content === "string" ? encodeText(content) : content)
  );
  return runner({ loader, ...options }).run({ skill, path, source, input: { a: 1 }, resources, ...request });
}

/** What is used of a workspace, in memory. */
function workspaceOf(content: Record<string, string>) {
  const files = new Map(Object.entries(content));
  const info = (path: string) => ({
    path,
    name: path.slice(1),
    type: "file" as const,
    mimeType: "text/plain",
    size: files.get(path)?.length ?? 0,
    createdAt: 0,
    updatedAt: 0
  });
  const workspaceInstance = {
    readFile: (path: string) => files.get(path) ?? null,
    writeFile: (path: string, text: string) => void files.set(path, text),
    readDir: () => [...files.keys()].map(info),
    glob: () => [...files.keys()].map(info),
    stat: (path: string) => (files.has(path) ? info(path) : null)
  };
  return { files, workspaceInstance };
}

const double = tool({ inputSchema: z.object({ n: z.number() }), execute: ({ n }) => ({ twice: n * 2 }) });
const deploy = tool({ inputSchema: z.object({}), needsApproval: true, execute: () => "deployed" });

describe("a script", () => {
  test("gets its input, its skill without the body, and text files; what it returns is the result", async () => {
    const source = "export default (input, ctx) => ({ input, skill: ctx.skill, files: ctx.files })";
    const files = { "references/guide.md": "guide", "assets/a.bin": Uint8Array.of(0, 1) };
    expect(await run(source, {}, { files })).toEqual({
      input: { a: 1 },
      skill: { name: "greet", description: "d", metadata: { version: "3" }, version: "3" },
      files: { "scripts/run.js": source, "references/guide.md": "guide" }
    });
    expect(await run("export default async () => [1]")).toEqual([1]);
    expect(await run("export default () => undefined")).toBeNull();
  });

  test("that prints or leaves files gets both beside its result", async () => {
    const source = `export default async function run(input, { output }) {
      console.log("one", { two: 2 }); console.warn("w"); console.error("e");
      await output.writeFile("notes.md", "old"); await output.writeFile("notes.md", "new");
      return 1;
    }`;
    expect(await run(source)).toEqual({
      result: 1,
      logs: ['one {"two":2}', "[warn] w", "[error] e"],
      outputFiles: [{ path: "notes.md", encoding: "text", content: "new" }]
    });
  });

  test("that leaves another value than a text leaves JSON", async () => {
    const source = `export default async (input, { output, tools }) => {
      await output.writeFile("result.json", await tools.call("double", { n: 2 }));
      return 1;
    }`;
    const content = JSON.stringify({ twice: 4 }, null, 2);
    expect(await run(source, { tools: { double } })).toMatchObject({ outputFiles: [{ path: "result.json", content }] });
    const nothing = `export default (input, { output }) => output.writeFile("a", undefined)`;
    await expect(run(nothing)).rejects.toThrow("A text is expected");
  });

  test("that throws reports its message and what it printed before", async () => {
    const source = `console.log("top"); export default () => { console.log("before"); throw new Error("broke"); }`;
    await expect(run(source)).rejects.toThrow("broke\ntop\nbefore");
  });

  test.each([
    ["no default export", "export const run = () => 1", "export default"],
    ["a default export that is no function", "export default 7", "export default"],
    ["syntax that is none", "export default (", "scripts/run.js cannot be read"],
    ["a package", 'import x from "lodash"; export default x', 'imports "lodash"'],
    [
      "a module of the platform",
      'import { env } from "cloudflare:workers"; export default () => env',
      "cloudflare:workers"
    ],
    ["a file that is not there", 'import "./no.js"; export default () => 1', 'imports "./no.js"']
  ])("with %s is refused with a sentence", async (_name, source, message) => {
    await expect(run(source)).rejects.toThrow(message);
  });

  test("may be one module with its default under another name, and further exports", async () => {
    const source = "const run = (i) => i.a + 1; const helper = 1; export { helper, run as default };";
    expect(await run(source, {}, { precompiled: true })).toBe(2);
  });

  test("that was compiled when it was built is not read as TypeScript again, whatever it is called", async () => {
    // As TypeScript this would be a call of f with a type.
    const content = "const f = 3; export default () => f<1>(2)";
    const [path, kind] = ["scripts/run.ts", "script"] as const;
    const resources = [{ path, kind, content, precompiled: true }];
    expect(await run(content, {}, { path, resources, precompiled: true })).toBe(false);
  });

  test("may be TypeScript in several files, with JSON", async () => {
    const source = `#!/usr/bin/env node
import { twice, type Num } from "./lib/helper";
import names from "../assets/names.json";
interface Input { a: Num }
export default function run(input: Input): unknown { return [twice(input.a as Num), names[0]]; }`;
    const files = {
      "scripts/lib/helper.ts": `import { two } from "../two.js"; export type Num = number; export const twice = (n: Num): Num => n * two;`,
      "scripts/two.ts": "export const two: number = 2;",
      "assets/names.json": '["Ann"]'
    };
    expect(await run(source, {}, { path: "scripts/run.ts", files })).toEqual([2, "Ann"]);
  });

  test("is not changed in what it does by the checks in its loops and functions", async () => {
    const source = `
      const tick = (n) => n ? tick(n - 1) + 1 : 0;
      class A { #x = () => ({ y: 1 }); get y() { return this.#x().y; } static { for (const _ of [1]) A.z = 2 } *g() { yield* [1, 2] } }
      export default async function run() {
        let s = 0; for (let i = 0; i < 3; i++) s += i; while (s < 10) s++
        do s++; while (s < 12)
        outer: for (const k in { a: 1, b: 2 }) for (;;) { if (k) continue outer; }
        const f = a => b => c => [a, b, c], h = async x => await x;
        return [s, tick(3), new A().y, A.z, [...new A().g()], f(1)(2)(3), await h(4), [3, 1, 2].sort((a, b) => a - b)];
      }`;
    expect(await run(source)).toEqual([12, 3, 1, 2, [1, 2], [1, 2, 3], 4, [1, 2, 3]]);
  });
});

describe("what a script can reach", () => {
  const source = `export default async (input, { workspace }) => {
    const tried = async (work) => { try { return await work(); } catch (error) { return error.message; } };
    return [
      await tried(() => workspace.readFile("/f")), await tried(() => workspace.listFiles()), await tried(() => workspace.glob("*")),
      await tried(() => workspace.stat("/f")), await tried(() => workspace.writeFile("/g", "new"))
    ];
  }`;

  test("no workspace without an instance, reading by default, writing only with read-write", async () => {
    const none = "Workspace access is not available.";
    expect(await run(source)).toEqual([none, none, none, none, none]);
    const { files, workspaceInstance } = workspaceOf({ "/f": "text" });
    const read = ["text", ["f"], ["/f"], { type: "file", size: 4 }];
    expect(await run(source, { workspaceInstance })).toEqual([...read, "Workspace write access is not available."]);
    expect(files.has("/g")).toBe(false);
    expect(await run(source, { workspaceInstance, workspace: "none" })).toEqual([none, none, none, none, none]);
    await run(source, { workspaceInstance, workspace: "read-write" });
    expect(files.get("/g")).toBe("new");
  });

  test("tools that were given, with checked input; none that needs an approval", async () => {
    const calls = `export default async (input, { tools }) => {
      const tried = async (work) => { try { return await work(); } catch (error) { return error.message; } };
      return [await tools.double({ n: 2 }), await tools.call("double", { n: 3 }), await tried(() => tools.double({ n: "x" })),
        await tried(() => tools.deploy({})), await tried(() => tools.nothing({})), await tried(() => tools.call("constructor"))];
    }`;
    expect(await run(calls, { tools: async () => ({ double, deploy }) })).toEqual([
      { twice: 4 },
      { twice: 6 },
      expect.stringContaining('Invalid input for "double"'),
      expect.stringContaining("needs an approval"),
      "Tool not available: nothing",
      "Tool not available: constructor"
    ]);
  });

  test("files that it leaves have limits, and are the run's own", async () => {
    const over = `export default async (i, { output }) => { await output.writeFile("a", "x".repeat(64001)); }`;
    await expect(run(over)).rejects.toThrow("64001 bytes");
    const many = `export default async (i, { output }) => { for (let n = 0; n < 21; n++) await output.writeFile("f" + n, "x"); }`;
    await expect(run(many)).rejects.toThrow("at most 20");
    const own = `export default async (i, { output }) => { await output.writeFile("a", i.text); return 1; }`;
    const results = await Promise.all(["x", "y"].map((text) => run(own, {}, { input: { text } })));
    expect(results).toMatchObject([{ outputFiles: [{ content: "x" }] }, { outputFiles: [{ content: "y" }] }]);
  });
});

describe("a hostile script", () => {
  test("that waits for ever is timed out from outside", async () => {
    await expect(run("export default () => new Promise(() => {})", { timeout: 200 })).rejects.toThrow("timed out");
    await expect(run("await new Promise(() => {}); export default () => 1", { timeout: 200 })).rejects.toThrow(
      /timed out|unsettled/i
    );
  });

  test.each([
    ["loops", "export default () => { for (;;) {} }"],
    ["loops at its top level", "while (true); export default () => 1"],
    ["catches what would end it", "export default () => { for (;;) { try { for (;;); } catch {} } }"],
    ["calls itself in microtasks", "const f = () => Promise.resolve().then(f); export default () => f()"],
    ["prints for ever", "export default () => { for (;;) console.log('x'.repeat(1000)); }"],
    ["changes the clock", "Date.now = () => 0; export default () => { for (;;) {} }"]
  ])("that %s is ended, and the agent goes on", async (_name, source) => {
    // By the checks in the code, long before its deadline: how long they take depends on what else the machine does.
    const ended = await run(source, { timeout: 50_000 }).then(
      () => "returned",
      (error: unknown) => String(error)
    );
    expect(ended).toContain("without a break and was timed out");
    expect(ended.length).toBeLessThan(140_000);
    expect(await run("export default () => 1")).toBe(1);
  });

  test("that loops is ended at its deadline, if that is shorter than what any code may spin", async () => {
    // Loads the parser.
    await run("export default () => 1");
    const started = Date.now();
    await expect(run("export default () => { for (;;) {} }", { timeout: 300 })).rejects.toThrow("timed out");
    expect(Date.now() - started).toBeLessThan(2_000);
  });

  test("has no network, in any way it could ask for one", async () => {
    const source = `export default async () => {
      const tried = async (work) => { try { await work(); return "open"; } catch (error) { return "closed"; } };
      return [await tried(() => fetch("https://example.com/")), await tried(() => fetch("http://127.0.0.1/")),
        await tried(async () => { const ws = await fetch("https://example.com/", { headers: { upgrade: "websocket" } }); }),
        await tried(async () => (await import("cloudflare:" + "sockets")).connect("example.com:80").opened)];
    }`;
    expect(await run(source)).toEqual(["closed", "closed", "closed", "closed"]);
  });

  test("with network reaches what is allowed and nothing inside", async () => {
    const answered = vi
      .spyOn(globalThis, "fetch")
      .mockImplementation(async () => new Response("hello", { status: 201 }));
    const source = `export default async () => {
      const answer = await fetch(new Request("https://api.example.com/v1", { headers: { "x-a": "1" } }));
      const inside = await fetch("http://169.254.169.254/").then(() => "open", (error) => error.message);
      return [answer.status, await answer.text(), inside];
    }`;
    const network = { allow: ["https://api.example.com"] };
    expect(await run(source, { network })).toEqual([201, "hello", expect.stringMatching(/denied|not in the list/)]);
    expect(answered).toHaveBeenCalledTimes(1);
    answered.mockRestore();
  });

  test("sees neither bindings nor files of another skill, and cannot leave its folder", async () => {
    const source = `export default async (input, ctx) => {
      const names = Object.keys(globalThis).filter((name) => /env|LOADER|process/.test(name));
      return [Object.keys(ctx.files), names, Object.keys((await import("cloudflare:" + "workers")).env)];
    }`;
    expect(await run(source)).toEqual([["scripts/run.js"], [], []]);
    await expect(run('import "../../other/scripts/x.js"; export default () => 1')).rejects.toThrow("does not have");
  });

  test("reaches nothing when its time is over", async () => {
    const { files, workspaceInstance } = workspaceOf({});
    const source = `export default async (i, { workspace }) => {
      await new Promise((done) => setTimeout(done, 400)); await workspace.writeFile("/late", "x");
    }`;
    const options = { workspaceInstance, workspace: "read-write", timeout: 100 } as const;
    await expect(run(source, options)).rejects.toThrow("timed out");
    await new Promise((done) => setTimeout(done, 600));
    expect(files.size).toBe(0);
  });

  test("may ask the agent a thousand times and not more, and cannot return without measure", async () => {
    const asking = `export default async (i, { tools }) => { for (let n = 0; ; n++) { try { await tools.double({ n }); } catch (e) { return [n, e.message]; } } }`;
    expect(await run(asking, { tools: { double } })).toEqual([1_000, expect.stringContaining("at most 1000 calls")]);
    await expect(run("export default () => 'x'.repeat(2_000_000)")).rejects.toThrow("more than 1000000");
  });

  test("that changes the code around it cannot forge what the agent checks", async () => {
    const source = `JSON.stringify = () => '"' + "x".repeat(2_000_000) + '"'; Array.prototype.push = function () {}; export default () => 1`;
    await expect(run(source)).rejects.toThrow("more than 1000000");
  });
});
