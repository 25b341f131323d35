// Scripts in Python, on the interpreter that Python Workers have (Pyodide), in Node. What the platform adds, its own
// entrypoint class and the call from outside, stands in for itself: no Python Worker starts without a network.
import { tool } from "ai";
import { loadPyodide } from "pyodide";
import type { PyCallable } from "pyodide/ffi";
import { beforeAll, expect, test, vi } from "vitest";
import { z } from "zod";
import type { IsolateLoader } from "../../../sandbox/isolate.ts";
import { openWorkspace } from "../../workspace/workspace.test-support.ts";
import { resourceOf } from "../resource.ts";
import { runner, type SkillRunnerOptions } from "./runner.ts";
import type { SkillScriptRequest } from "./script.ts";

// Starting the interpreter takes seconds on a busy machine.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const skill = { name: "greet", description: "d", body: "Body.", metadata: { version: "3" } };

interface PythonCode {
  readonly compatibilityFlags: readonly string[];
  readonly mainModule: string;
  readonly modules: Readonly<Record<string, { readonly py: string }>>;
  readonly globalOutbound: unknown;
  readonly env: object;
}

/** What was loaded last. */
let loaded: PythonCode | undefined;
let loader: IsolateLoader;

beforeAll(async () => {
  const python = await loadPyodide();
  python.runPython(`
import sys, types
workers = types.ModuleType("workers")
workers.WorkerEntrypoint = object
sys.modules["workers"] = workers
`);
  const load = (code: PythonCode) => {
    loaded = code;
    const names = python.toPy({ __name__: "main" });
    python.runPython(code.modules[code.mainModule]?.py ?? "", { globals: names });
    const run = python.runPython("Default().run", { globals: names }) as PyCallable;
    return { getEntrypoint: () => ({ run: (payload: string, host: unknown) => run(payload, host) }) };
  };
  // The binding's type takes any code.
  loader = { get: (_id, code) => load(code()), load: (code) => load(code) };
});

function python(source: string, options: SkillRunnerOptions = {}, rest: Partial<SkillScriptRequest> = {}) {
  return runner({ loader, ...options }).run({ skill, path: "scripts/run.py", source, input: { a: 1 }, ...rest });
}

const tools = {
  double: tool({ inputSchema: z.object({ n: z.number() }), execute: ({ n }) => ({ twice: n * 2 }) }),
  deploy: tool({ inputSchema: z.object({}), needsApproval: true, execute: () => "deployed" })
};

test("a Python script runs in a Python Worker without bindings and without network", async () => {
  await python("def run(input, ctx):\n  return 1");
  expect(loaded).toMatchObject({
    compatibilityFlags: ["python_workers"],
    mainModule: "main.py",
    globalOutbound: null,
    env: {}
  });
});

test("a function run() is called with the input and the skill, plain or async, and its value is the result", async () => {
  expect(await python(`def run(input, ctx):\n  return [input["a"] + 1, ctx["skill"]["version"], __name__]`)).toEqual([
    2,
    "3",
    "skill_script"
  ]);
  expect(await python("async def run(input, ctx):\n  return None")).toBeNull();
});

test("what a function prints and leaves is beside its result", async () => {
  const source = `
import sys
def run(input, ctx):
  print("one")
  print("two", file=sys.stderr)
  open("/output/b.txt", "w").write("b")
  return input`;
  expect(await python(source)).toEqual({
    result: { a: 1 },
    logs: ["one", "two"],
    outputFiles: [{ path: "b.txt", encoding: "text", content: "b" }]
  });
});

test("another script is the program itself, with stdin, paths, exit code and files, sorted, text and bytes", async () => {
  const source = `
import json, os, sys
print(json.load(sys.stdin)["a"], json.load(open("/input.json"))["a"], json.load(open("/context.json"))["skill"]["name"])
print(open("SKILL.md").read(), list(open("assets/a.bin", "rb").read()), __name__)
os.makedirs("/output/d")
open("/output/d/z.txt", "w").write("é")
open("/output/a.bin", "wb").write(bytes([255]))
print("bad", file=sys.stderr)
sys.exit(7)`;
  const resources = [resourceOf("assets/a.bin", Uint8Array.of(0, 255))];
  expect(await python(source, {}, { resources })).toEqual({
    stdout: "1 1 greet\nBody. [0, 255] __main__\n",
    stderr: "bad\n",
    exitCode: 7,
    outputFiles: [
      { path: "a.bin", encoding: "base64", content: "/w==" },
      { path: "d/z.txt", encoding: "text", content: "é" }
    ]
  });
});

test.each([
  ["pass", { exitCode: 0, stderr: "" }],
  ["import sys; sys.exit()", { exitCode: 0, stderr: "" }],
  ["import sys; sys.exit(3)", { exitCode: 3, stderr: "" }],
  ["import sys; sys.exit('no')", { exitCode: 1, stderr: "no\n" }]
])("%s ends with its exit code", async (source, expected) => {
  expect(await python(source)).toMatchObject(expected);
});

test("files of one run are not there in the next", async () => {
  await python('open("/output/a", "w").write("a"); open("/skill/b", "w").write("b")');
  expect(await python('import os; print(os.path.exists("/skill/b"))')).toEqual({
    stdout: "False\n",
    stderr: "",
    exitCode: 0
  });
});

test("a script imports its neighbour", async () => {
  const resources = [resourceOf("scripts/neighbour.py", new TextEncoder().encode("def name(): return 'n'"))];
  const source = "from neighbour import name\ndef run(input, ctx):\n  return name()";
  expect(await python(source, {}, { resources })).toBe("n");
});

test("tools are called by attribute and by name, checked, and one that asks for approval is not run", async () => {
  const source = `
async def run(input, ctx):
  found = [await tools.double({"n": 1}), await tools.call("double", {"n": 2})]
  for name, given in (("double", {"n": "x"}), ("deploy", {}), ("nothing", {})):
    try:
      await tools.call(name, given)
    except Exception as error:
      found.append(str(error))
  return found`;
  expect(await python(source, { tools })).toEqual([
    { twice: 2 },
    { twice: 4 },
    expect.stringContaining('Invalid input for "double"'),
    expect.stringContaining("needs an approval"),
    "Tool not available: nothing"
  ]);
});

test("a program calls tools, too", async () => {
  expect(await python('print((await tools.double({"n": 4}))["twice"])', { tools })).toMatchObject({ stdout: "8\n" });
});

test("the workspace is read where it may be read, and written where it may be written", async () => {
  const { files: workspace } = openWorkspace();
  await workspace.writeFile("/notes/a.md", "text");
  const source = `
async def run(input, ctx):
  found = [await workspace.read_file("/notes/a.md"), await workspace.list_files("/notes"), await workspace.glob("/**/*.md")]
  try:
    await workspace.write_file("/b.md", "b")
  except Exception as error:
    found.append(str(error))
  return found`;
  const found = ["text", ["a.md"], ["/notes/a.md"]];
  expect(await python(source, { workspaceInstance: workspace })).toEqual([
    ...found,
    "Workspace write access is not available."
  ]);
  expect(await python(source, { workspaceInstance: workspace, workspace: "read-write" })).toEqual(found);
  expect(await workspace.readFile("/b.md")).toBe("b");
  await expect(python(source)).rejects.toThrow("Workspace access is not available.");
});

test.each([
  ["def run(input, ctx):\n  print('before')\n  raise ValueError('broke')", "broke\nbefore"],
  ["raise KeyError()", "KeyError"],
  ["def run(:", "invalid syntax"],
  ["def run(input, ctx):\n  return float('nan')", "JSON compliant"],
  ["def run(input, ctx):\n  return object()", "not JSON serializable"],
  ["import sys\ndef run(input, ctx):\n  sys.exit(2)", "sys.exit(2)"]
])("%j rejects with what went wrong", async (source, message) => {
  await expect(python(source)).rejects.toThrow(message);
});

test.each([
  ["an endless loop", "while True: pass"],
  ["one that catches everything it can", "while True:\n  try:\n    x = 1\n  except Exception:\n    pass"],
  ["a loop of calls", "def f(): return 1\nwhile f(): f()"]
])("%s ends at the timeout", async (_name, source) => {
  await expect(python(source, { timeout: 300 })).rejects.toThrow("Python script execution timed out");
});

test("a script that waits for ever is timed out from outside", async () => {
  const waits: IsolateLoader = {
    get: () => ({ getEntrypoint: () => ({ run: () => new Promise(() => undefined) }) })
  };
  await expect(python("pass", { loader: waits, timeout: 20 })).rejects.toThrow("Python script execution timed out");
});

test("files over the limits, and printing for ever, are bounded", async () => {
  await expect(python('open("/output/a", "w").write("x" * 64001)')).rejects.toThrow("64001 bytes");
  const many = 'for n in range(30): open(f"/output/{n}", "w").write("x")';
  await expect(python(many)).rejects.toThrow("at most 20");
  const result = await python('for n in range(100): print("x" * 10000)');
  expect(JSON.stringify(result).length).toBeLessThan(70_000);
});

test.each([
  ["internal error", "Python scripts cannot run here"],
  ["Worker exceeded CPU time limit.", "Python script execution timed out"]
])("where the platform answers %j, one sentence says what is the matter", async (reason, message) => {
  const refusing = (): IsolateLoader => ({
    get: () => ({ getEntrypoint: () => ({ run: () => Promise.reject(new Error(reason)) }) })
  });
  await expect(python("pass", { loader: refusing() })).rejects.toThrow(message);
  const throwing: IsolateLoader = {
    get: () => {
      throw new Error(reason);
    }
  };
  await expect(python("pass", { loader: throwing })).rejects.toThrow(message);
});

test.each([
  ["nothing", undefined, "returned nothing"],
  ["no JSON", "x", "returned nothing"],
  ["a file without a name", JSON.stringify({ files: [{ path: "", base64: "" }] }), "name of an output file"],
  ["a result that is too long", JSON.stringify({ result: "x".repeat(1_000_001) }), "1000000 characters"]
])("a worker that answers with %s is not believed", async (_name, answer, message) => {
  const tampered: IsolateLoader = { get: () => ({ getEntrypoint: () => ({ run: async () => answer }) }) };
  await expect(python("pass", { loader: tampered })).rejects.toThrow(message);
});
