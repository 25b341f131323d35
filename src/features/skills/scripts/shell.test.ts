import { tool } from "ai";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { openWorkspace } from "../../workspace/workspace.test-support.ts";
import { resourceOf } from "../resource.ts";
import { fromManifest } from "../manifest-source.ts";
import { SkillRegistry } from "../registry.ts";
import { manifestOf } from "../skills.test-support.ts";
import { runner, type SkillRunnerOptions } from "./runner.ts";
import type { SkillScriptRequest, SkillScriptRunner } from "./script.ts";

// The interpreter is a large module, and endless scripts run into its limits only.
vi.setConfig({ testTimeout: 60_000 });

const skill = { name: "greet", description: "d", body: "Body.", rawContent: "---\nraw", metadata: { version: "3" } };

function bash(source: string, options: SkillRunnerOptions = {}, rest: Partial<SkillScriptRequest> = {}) {
  return runner(options).run({ skill, path: "scripts/run.sh", source, input: { a: 1 }, ...rest });
}

const tools = {
  double: tool({ inputSchema: z.object({ n: z.number() }), execute: ({ n }) => ({ twice: n * 2 }) }),
  deploy: tool({ inputSchema: z.object({}), needsApproval: true, execute: () => "deployed" })
};

test("a script finds its input, its context and the files of its skill, bytes decoded", async () => {
  const resources = [
    resourceOf("assets/a.bin", Uint8Array.of(0, 255)),
    resourceOf("references/é.md", new Uint8Array(0))
  ];
  const script =
    "cat /input.json; echo; cat; echo; jq -r .skill.version /context.json; cat SKILL.md; echo; wc -c < assets/a.bin; ls references";
  const result = await bash(script, {}, { resources });
  expect(result).toEqual({
    stdout: expect.stringMatching(/^\{"a":1\}\n\{"a":1\}\n3\n---\nraw\n\s*2\né\.md\n$/),
    stderr: "",
    exitCode: 0
  });
});

test("another exit code is a result, and /output is part of it, sorted, text and bytes", async () => {
  const script = "echo err >&2; mkdir /output/d; echo b > /output/d/b.txt; cp assets/a.bin /output/a.bin; exit 7";
  const resources = [resourceOf("assets/a.bin", Uint8Array.of(255))];
  expect(await bash(script, {}, { resources })).toEqual({
    stdout: "",
    stderr: "err\n",
    exitCode: 7,
    outputFiles: [
      { path: "a.bin", encoding: "base64", content: "/w==" },
      { path: "d/b.txt", encoding: "text", content: "b\n" }
    ]
  });
});

test("a link in /output leads to no file of another place", async () => {
  expect(await bash("ln -s /input.json /output/leak; echo x > /output/x")).toMatchObject({
    outputFiles: [{ path: "x" }]
  });
});

test.each([
  ["a file of more than 64,000 bytes", "seq 1 20000 > /output/a", "64000"],
  ["a 21st file", "for i in $(seq 1 21); do echo x > /output/$i; done", "at most 20"]
])("%s fails the run", async (_name, script, message) => {
  await expect(bash(script)).rejects.toThrow(message);
});

describe("the workspace", () => {
  const commands =
    "workspace-read /f.txt; echo; workspace-list; workspace-glob '**/*.txt'; echo new | workspace-write /g.txt; echo $?";

  test("is not there without an instance", async () => {
    expect(await bash(commands)).toMatchObject({
      stdout: "\n127\n",
      stderr: expect.stringContaining("workspace-read")
    });
  });

  test("is read by default, and written only with read-write", async () => {
    const { files } = openWorkspace();
    await files.writeFile("/f.txt", "text");
    const read = await bash(commands, { workspaceInstance: files });
    expect(read).toMatchObject({ stdout: 'text\n["f.txt"]\n["/f.txt"]\n127\n' });
    expect(await files.stat("/g.txt")).toBeNull();
    const none = await bash(commands, { workspaceInstance: files, workspace: "none" });
    expect(none).toMatchObject({ stdout: "\n127\n" });
    await bash(commands, { workspaceInstance: files, workspace: "read-write" });
    expect(await files.readFile("/g.txt")).toBe("new\n");
  });

  test("a missing argument is exit 2, a failure exit 1 with its message", async () => {
    const { files } = openWorkspace();
    expect(
      await bash("workspace-read; echo $?; workspace-read /no; echo $?", { workspaceInstance: files })
    ).toMatchObject({
      stdout: "2\n1\n",
      stderr: expect.stringContaining("no such file")
    });
  });
});

test("a granted tool is called with checked input; others, and those that need approval, are not", async () => {
  const script = `tool double '{"n":2}'; echo '{"n":3}' | tool double; tool double '{"n":"x"}'; tool deploy; tool nothing; echo $?`;
  expect(await bash(script, { tools })).toMatchObject({
    stdout: '{"twice":4}\n{"twice":6}\n1\n',
    stderr: expect.stringMatching(
      /Invalid input for "double"[\s\S]*needs an approval[\s\S]*Tool not available: nothing/
    )
  });
  expect(await bash("tool double '{}'; echo $?")).toMatchObject({ stdout: "127\n" });
  expect(await bash("tool double '{\"n\":1}'", { tools: async () => tools })).toMatchObject({
    stdout: '{"twice":2}\n'
  });
});

describe("scripts made to harm", () => {
  test("there is no network unless it is allowed", async () => {
    const fetched = vi.spyOn(globalThis, "fetch").mockRejectedValue(new Error("must not be called"));
    expect(await bash("curl https://example.com; echo $?")).toMatchObject({ stdout: "127\n" });
    expect(await bash("curl http://127.0.0.1/; echo $?", { network: true })).not.toMatchObject({ stdout: "0\n" });
    expect(fetched).not.toHaveBeenCalled();
    fetched.mockRestore();
  });

  test.each([
    ["loops", "while true; do :; done"],
    ["prints", "while true; do echo x; done"]
  ])("one that %s for ever is timed out, although it never yields", async (_name, script) => {
    const started = Date.now();
    await expect(bash(script, { timeout: 500 })).rejects.toThrow("timed out after 500 ms");
    expect(Date.now() - started).toBeLessThan(3_000);
  });

  test("one that sleeps is timed out from outside", async () => {
    await expect(bash("sleep 1000", { timeout: 100 })).rejects.toThrow("timed out after 100 ms");
  });

  test("of what is printed the first 64,000 bytes are kept", async () => {
    const result = await bash("seq 1 100000; seq 1 100000 >&2");
    expect(JSON.stringify(result).length).toBeLessThan(160_000);
    expect(JSON.stringify(result)).toContain("truncated");
  });

  test("a path that leaves the skill rejects the run", async () => {
    const resources = [{ path: "../../etc/passwd", kind: "file", content: "x" } as const];
    await expect(bash("true", {}, { resources })).rejects.toThrow("normalized relative path");
  });

  test("a stopped turn stops the script", async () => {
    const controller = new AbortController();
    const run = bash("sleep 1000", {}, { signal: controller.signal });
    controller.abort();
    await expect(run).rejects.toThrow("stopped");
  });
});

test("a script in Python is refused with a sentence without a loader, and a runner of one's own is given it", async () => {
  const source = fromManifest(manifestOf({ "scripts/a.py": "print(1)" }));
  const call = async (one: SkillScriptRunner) => {
    const { run_skill_script: tool } = await new SkillRegistry([source], one).tools();
    return await tool?.execute?.(
      { name: "greet", path: "scripts/a.py" },
      { toolCallId: "c", messages: [], context: {} }
    );
  };
  expect(await call(runner({}))).toContain("Python cannot run here");
  expect(await call({ run: async ({ source: code }) => `ran ${code}` })).toBe("ran print(1)");
});

test("without a loader only scripts in Bash run", async () => {
  await expect(runner({}).run({ skill, path: "scripts/a.js", source: "", input: {} })).rejects.toThrow(
    "cannot run here"
  );
});
