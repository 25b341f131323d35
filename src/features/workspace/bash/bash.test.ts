import { beforeAll, describe, expect, test, vi } from "vitest";
import { callTool, FolderFiles, MemoryFiles } from "../tools/backends.test-support.ts";
import { createBashTool } from "../tools/bash.ts";
import { createWorkspaceTools } from "../tools/create-workspace-tools.ts";
import type { BashOperations } from "../tools/operations.ts";
import type { WorkspaceChangeEvent } from "../store/operation.ts";
import { openWorkspace, patternedBytes } from "../workspace.test-support.ts";
import type { Workspace } from "../workspace.ts";
import type { BashOutput } from "./run-script.ts";

// The interpreter is a large module, and endless scripts run into its limits only.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const UNCHANGED = { created: [], updated: [], deleted: [], directoriesCreated: [], directoriesDeleted: [] };

type Options = Omit<Parameters<typeof createBashTool>[0], "ops">;

async function bash(
  ops: BashOperations,
  script: string,
  options: Options & { cwd?: string; signal?: AbortSignal } = {}
): Promise<BashOutput> {
  const { cwd, signal, ...rest } = options;
  return await callTool(createBashTool({ ops, ...rest }), { script, ...(cwd !== undefined && { cwd }) }, signal);
}

test("what a script creates, changes and deletes is in the workspace, and exactly reported", async () => {
  const { files } = openWorkspace();
  await files.writeFile("/src/a.txt", "alpha\n");
  await files.writeFile("/src/b.txt", "beta\n");
  await files.writeFile("/same.txt", "same\n");
  await files.mkdir("/old/empty", { recursive: true });
  const result = await bash(
    files,
    "echo more >> src/a.txt; rm src/b.txt; mkdir -p new/deep; printf hi > new/c; rmdir old/empty; cp same.txt x && mv x same.txt; ls /bin > /tmp/list"
  );
  expect(result).toEqual({
    stdout: "",
    stderr: "",
    exitCode: 0,
    changedFiles: {
      created: ["/new/c"],
      updated: ["/src/a.txt"],
      deleted: ["/src/b.txt"],
      directoriesCreated: ["/new", "/new/deep"],
      directoriesDeleted: ["/old/empty"]
    }
  });
  expect(await files.readFile("/src/a.txt")).toBe("alpha\nmore\n");
  expect((await files.glob("**/*")).map(({ path }) => path)).toEqual([
    "/new",
    "/new/c",
    "/new/deep",
    "/old",
    "/same.txt",
    "/src",
    "/src/a.txt"
  ]);
});

test("a script that changes nothing writes nothing and reports nothing", async () => {
  const events: unknown[] = [];
  const { files, database } = openWorkspace({ onChange: (event) => events.push(event) });
  await files.writeFile("/f", "x");
  events.length = 0;
  const before = database.sqlite.prepare("SELECT total_changes() AS n").get();
  expect(await bash(files, "cat f; cat f > g; rm g; printf x > f")).toMatchObject({
    stdout: "x",
    changedFiles: UNCHANGED
  });
  expect(database.sqlite.prepare("SELECT total_changes() AS n").get()).toEqual(before);
  expect(events).toEqual([]);
});

test("echo asks nothing of the workspace, however many files there are; cat asks for one", async () => {
  const { files, database } = openWorkspace();
  for (let index = 0; index < 300; index += 1) await files.writeFile(`/d/${index}`, `${index}`);
  const before = database.statements;
  await bash(files, "echo hi");
  expect(database.statements - before).toBeLessThanOrEqual(12);
  const middle = database.statements;
  expect((await bash(files, "cat /d/299")).stdout).toBe("299");
  expect(database.statements - middle).toBeLessThanOrEqual(20);
});

test("a directory of 1,005 files is visible whole", async () => {
  const { files } = openWorkspace();
  for (let index = 0; index < 1_005; index += 1) await files.writeFile(`/d/f${index}`, "x");
  expect((await bash(files, "ls d | wc -l; cat d/* | wc -c")).stdout.split(/\s+/).filter(Boolean)).toEqual([
    "1005",
    "1005"
  ]);
});

test("exit codes, both streams, and the directory to start in", async () => {
  const { files } = openWorkspace();
  await files.writeFile("/sub/f", "here");
  expect(await bash(files, "cat f; echo out; echo err >&2; exit 9", { cwd: "sub" })).toMatchObject({
    stdout: "hereout\n",
    stderr: "err\n",
    exitCode: 9
  });
  expect(await bash(files, "if then")).toMatchObject({
    exitCode: expect.not.stringMatching(/^0$/),
    changedFiles: UNCHANGED
  });
  expect((await bash(files, "x=1; cd sub")).exitCode).toBe(0);
  expect((await bash(files, 'echo "[$x]"; pwd')).stdout).toBe("[]\n/\n");
});

test("links are seen, followed, made, kept and deleted as links", async () => {
  const { files } = openWorkspace();
  await files.writeFile("/real/f", "content");
  await files.symlink("/real", "/link");
  await files.symlink("/nowhere", "/dangling");
  await files.symlink("/real/f", "/second");
  const result = await bash(
    files,
    "cat link/f; readlink dangling; echo new > link/g; ln -s real/f alias; rm second; echo through >> alias"
  );
  expect(result).toMatchObject({
    stdout: "content/nowhere\n",
    changedFiles: {
      created: ["/alias", "/real/g"],
      updated: ["/real/f"],
      deleted: ["/second"],
      directoriesCreated: []
    }
  });
  expect(await files.readlink("/link")).toBe("/real");
  expect(await files.readlink("/alias")).toBe("real/f");
  expect(await files.readFile("/real/f")).toBe("contentthrough\n");
  await bash(files, "rm -r real");
  expect((await files.glob("**/*")).map(({ path }) => path)).toEqual(["/alias", "/dangling", "/link"]);
});

test("a directory becomes a file, and a file a directory", async () => {
  const { files } = openWorkspace();
  await files.writeFile("/d/sub/f", "x");
  await files.writeFile("/f", "x");
  const result = await bash(files, "rm -r d; echo file > d; rm f; mkdir f; echo in > f/in");
  expect(result.errors).toBeUndefined();
  expect(await files.readFile("/d")).toBe("file\n");
  expect(await files.readFile("/f/in")).toBe("in\n");
  expect(result.changedFiles).toEqual({
    created: ["/d", "/f/in"],
    updated: [],
    deleted: ["/d/sub/f", "/f"],
    directoriesCreated: ["/f"],
    directoriesDeleted: ["/d", "/d/sub"]
  });
});

test("a text file keeps its type and stays text; bytes stay bytes", async () => {
  const { files } = openWorkspace();
  await files.writeFile("/page", "<p>old</p>\n", "text/html");
  await files.writeFileBytes("/raw", patternedBytes(5_000));
  await bash(files, "sed -i s/old/new/ page; cp raw copy; echo plain > out");
  expect(await files.stat("/page")).toMatchObject({ mimeType: "text/html" });
  expect(await files.readFile("/page")).toBe("<p>new</p>\n");
  expect(await files.readFileBytes("/copy")).toEqual(patternedBytes(5_000));
  expect((await files.stat("/out"))?.mimeType).toBe("text/plain");
  const { grep } = createWorkspaceTools(files);
  expect(await callTool(grep!, { query: "new" })).toMatchObject({ totalMatches: 1 });
});

/** The files of a workspace, with another writer at work between the script and its write-back. */
function withOtherWriter(files: Workspace, write: () => Promise<void>): BashOperations {
  return {
    readDir: (dir, options) => files.readDir(dir, options),
    readFileBytes: (path) => files.readFileBytes(path),
    writeFile: (path, content) => files.writeFile(path, content),
    mkdir: (path, options) => files.mkdir(path, options),
    rm: (path, options) => files.rm(path, options),
    lstat: (path) => files.lstat(path),
    applyChanges: async (changes) => {
      await write();
      return await files.applyChanges(changes);
    }
  };
}

test("a file that another writer changed meanwhile is named and not overwritten; the rest is written", async () => {
  const { files } = openWorkspace();
  for (const name of ["changed", "deleted", "made-meanwhile", "kept"])
    if (name !== "made-meanwhile") await files.writeFile(`/${name}`, "before");
  const meanwhile = withOtherWriter(files, async () => {
    await files.writeFile("/changed", "theirs");
    await files.writeFile("/deleted", "theirs too");
    await files.writeFile("/made-meanwhile", "theirs");
  });
  const result = await bash(meanwhile, "echo mine > changed; rm deleted; echo mine > made-meanwhile; echo mine > kept");
  expect(result.changedFiles).toMatchObject({ updated: ["/kept"], created: [], deleted: [] });
  expect(result.errors).toHaveLength(3);
  expect(result.errors?.join("\n")).toMatch(/\/changed was not changed: ESTALE: it was changed by another writer/);
  expect(await files.readFile("/changed")).toBe("theirs");
  expect(await files.readFile("/deleted")).toBe("theirs too");
  expect(await files.readFile("/made-meanwhile")).toBe("theirs");
});

test("nor does a directory or a link of the script take the place of what another writer wrote", async () => {
  const { files } = openWorkspace();
  for (const path of ["/to-directory", "/to-link"]) await files.writeFile(path, "before");
  const paths = ["/to-directory", "/to-link", "/new-directory", "/new-link"];
  const meanwhile = withOtherWriter(files, async () => {
    for (const path of paths) await files.writeFile(path, "theirs");
  });
  const result = await bash(
    meanwhile,
    "rm to-directory to-link; mkdir to-directory new-directory; ln -s x to-link; ln -s x new-link; echo in > new-directory/f"
  );
  for (const path of paths) {
    expect(await files.readFile(path)).toBe("theirs");
    expect(result.errors?.join("\n")).toContain(`${path} was not changed: ESTALE`);
  }
  expect(result.changedFiles).toEqual(UNCHANGED);
});

test("the write-back is one transaction: a storage failure in it changes nothing", async () => {
  const { files, database } = openWorkspace();
  await files.writeFile("/a", "1");
  let writes = 0;
  database.failure = (query) =>
    /^INSERT .*INTO cf_workspace_default /.test(query) && ++writes === 3 ? new Error("disk full") : undefined;
  await expect(bash(files, "echo 2 > a; echo 2 > b; echo 2 > c; echo 2 > d")).rejects.toThrow("disk full");
  database.failure = () => undefined;
  expect((await files.glob("*")).map(({ path }) => path)).toEqual(["/a"]);
  expect(await files.readFile("/a")).toBe("1");
});

test("what could not be read is neither overwritten nor deleted, and is named", async () => {
  const { files } = openWorkspace();
  await files.writeFile("/d/big", "b".repeat(2_000));
  await files.writeFile("/d/small", "s");
  const limited = await bash(files, "cat d/big; echo x > d/big; rm -r d", { maxWorkspaceFileBytes: 1_000 });
  expect(await files.readFile("/d/big")).toBe("b".repeat(2_000));
  expect(limited).toMatchObject({
    skippedFiles: ["/d/big"],
    changedFiles: { deleted: ["/d/small"], directoriesDeleted: [] }
  });
  expect(limited.errors?.join()).toContain("/d/big");
  await files.writeFile("/d/small", "s");
  const counted = await bash(files, "cat d/small; cat d/big; echo x > d/big", { maxWorkspaceFiles: 1 });
  expect(counted).toMatchObject({ stdout: "s", skippedFiles: ["/d/big"], changedFiles: UNCHANGED });
  expect((await bash(files, "cat d/big | wc -c")).stdout.trim()).toBe("2000");
});

test.each(["rm big", "rm -f big", "mv small big; rm big", "cat big; rm big", "find / -name big -delete"])(
  "a file that was too large for the script to read is not deleted by it: %s",
  async (script) => {
    const { files } = openWorkspace();
    await files.writeFile("/big", "b".repeat(2_000));
    await files.writeFile("/small", "s");
    const result = await bash(files, script, { maxWorkspaceFileBytes: 1_000 });
    expect(await files.readFile("/big")).toBe("b".repeat(2_000));
    expect(result.skippedFiles).toEqual(["/big"]);
    expect(result.changedFiles.deleted).not.toContain("/big");
    expect(result.errors?.join()).toContain("/big was not deleted: the script could not read it");
  }
);

test.each(["rm big; mkdir big; echo x > big/f", "rm big; ln -s small big", "ln -sf small big"])(
  "nor is what could not be read replaced by another kind of entry: %s",
  async (script) => {
    const { files } = openWorkspace();
    await files.writeFile("/big", "b".repeat(2_000));
    const result = await bash(files, script, { maxWorkspaceFileBytes: 1_000 });
    expect(await files.readFile("/big")).toBe("b".repeat(2_000));
    expect(result).toMatchObject({ skippedFiles: ["/big"], changedFiles: UNCHANGED });
    expect(result.errors?.join()).toContain("/big was not overwritten");
  }
);

describe("scripts made to harm", () => {
  // The first script of a process takes longer than the timeouts below: its commands are loaded and compiled.
  beforeAll(async () => void (await bash(openWorkspace().files, "echo early > f; while false; do :; done; sleep 0")));

  test.each([
    ["an endless loop", "echo kept > early; while true; do :; done"],
    ["one that forks itself for ever", "echo kept > early; :(){ :|:& };:"],
    ["endless recursion", "echo kept > early; f() { f; }; f"],
    ["a text that doubles for ever", "echo kept > early; x=a; while true; do x=$x$x; done"],
    ["a loop that writes for ever", "echo kept > early; while true; do echo x >> log; done"]
  ])("%s ends with a code, and what it wrote before stays", async (_name, script) => {
    const { files } = openWorkspace();
    const result = await bash(files, script);
    expect(result.exitCode).not.toBe(0);
    expect(await files.readFile("/early")).toBe("kept\n");
  });

  test("a script that never yields ends at the timeout with 124, and what it wrote before stays", async () => {
    const { files } = openWorkspace();
    const script = "echo early > f; while true; do :; done";
    const result = await bash(files, script, { timeout: 300 });
    expect(result).toMatchObject({ exitCode: 124, stderr: expect.stringContaining("timed out after 300 ms") });
    expect(await files.readFile("/f")).toBe("early\n");
  });

  test("a sleeping script ends at the timeout with 124", async () => {
    const { files } = openWorkspace();
    const result = await bash(files, "echo early > f; sleep 1000", { timeout: 200 });
    expect(result.exitCode).toBe(124);
    expect(await files.readFile("/f")).toBe("early\n");
  });

  test("a stopped turn stops the script at once, and what it did until then is kept", async () => {
    const { files } = openWorkspace();
    const turn = new AbortController();
    const events: WorkspaceChangeEvent[] = [];
    const run = bash(files, "echo early > f; sleep 1000", { signal: turn.signal });
    setTimeout(() => turn.abort(new Error("stopped")), 300);
    await expect(run).rejects.toThrow("stopped");
    expect(events).toEqual([]);
    expect(await files.readFile("/f")).toBe("early\n");
    await expect(bash(files, "echo x > g", { signal: turn.signal })).rejects.toThrow("stopped");
    expect(await files.exists("/g")).toBe(false);
  });

  test.each([
    ["yes | head -c 200000000"],
    ["seq 1 100000000"],
    ["printf '%200000000s' x"],
    ["echo {1..100000000}"],
    ["head -c 6000000 /dev/zero > z; gzip z; for i in 1 2 3 4 5 6 7 8; do zcat z.gz; done"],
    ["x=xxxxxxxxxxxxxxxx; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22; do x=$x$x; done; echo $x"]
  ])("output that never ends is bounded: %s", async (script) => {
    const { files } = openWorkspace();
    const result = await bash(files, script);
    expect(result.stdout.length + result.stderr.length).toBeLessThan(130_000);
  });

  test("output is cut at its limit and says by how much", async () => {
    const { files } = openWorkspace();
    const result = await bash(files, "for i in $(seq 1 3000); do echo 0123456789; done", { maxOutputBytes: 1_000 });
    expect(result.stdout.length).toBeLessThan(1_100);
    expect(result.stdout).toMatch(/\n\.\.\. \(31\.\d KB truncated\)$/);
  });

  test("hostile names are only names", async () => {
    const { files } = openWorkspace();
    await bash(
      files,
      "echo 1 > '100%'; echo 2 > 'a;b'; echo 3 > -- ; mkdir '..x'; echo 4 > '..x/$(id)'; echo 5 > ../../up"
    );
    expect((await files.glob("**/*")).map(({ path }) => path)).toEqual([
      "/--",
      "/..x",
      "/..x/$(id)",
      "/100%",
      "/a;b",
      "/up"
    ]);
  });
});

test("with an allow-list only what it lists is reached", async () => {
  const { files } = openWorkspace();
  const asked: string[] = [];
  const fetched = vi.spyOn(globalThis, "fetch").mockImplementation(async (input) => {
    asked.push(String(input));
    return new Response("from outside");
  });
  const network = { allow: ["https://api.example.com/v1"] };
  const script = "curl -s https://api.example.com/v1/x; curl -s https://evil.example.com/ || echo refused";
  expect((await bash(files, script, { network })).stdout).toBe("from outsiderefused\n");
  expect(asked).toEqual(["https://api.example.com/v1/x"]);
  fetched.mockRestore();
});

test("without network there is no curl", async () => {
  const { files } = openWorkspace();
  expect((await bash(files, "curl https://example.com")).exitCode).toBe(127);
});

describe("other file systems", () => {
  test("a folder: created, changed, deleted", async () => {
    const folder = new FolderFiles();
    await folder.writeFile("/a", "1");
    await folder.writeFile("/b", "1");
    expect(await bash(folder, "echo 2 > a; rm b; mkdir d; echo 3 > d/c")).toMatchObject({
      changedFiles: { created: ["/d/c"], updated: ["/a"], deleted: ["/b"], directoriesCreated: ["/d"] }
    });
    expect(await folder.readFile("/d/c")).toBe("3\n");
    expect(await folder.stat("/b")).toBeNull();
    expect((await bash(folder, "rm a; mkdir a; rm -r d; echo 4 > d; echo 5 > a/e")).errors).toBeUndefined();
    expect(await folder.readFile("/d")).toBe("4\n");
    expect(await folder.readFile("/a/e")).toBe("5\n");
  });

  test("one that takes text only refuses bytes with a reason, and links too", async () => {
    const memory = new MemoryFiles();
    await memory.writeFile("/a", "text");
    const result = await bash(memory, "echo more >> a; printf '\\x00\\x01' > raw; ln -s a l; mkdir d; echo x > d/y");
    expect(result.changedFiles).toMatchObject({ created: ["/d/y"], updated: ["/a"] });
    expect(result.errors).toEqual([
      expect.stringMatching(/^\/l .*no links/),
      expect.stringMatching(/^\/raw .*only text/)
    ]);
    expect(await memory.readFile("/a")).toBe("textmore\n");
  });
});

test("bash is one of the tools unless it is left out", async () => {
  const { files } = openWorkspace();
  const seven = ["read", "write", "edit", "list", "find", "grep", "delete"];
  expect(Object.keys(createWorkspaceTools(files))).toEqual([...seven, "bash"]);
  expect(Object.keys(createWorkspaceTools(files, { bash: { timeout: 5 } }))).toEqual([...seven, "bash"]);
  expect(Object.keys(createWorkspaceTools(files, { bash: false }))).toEqual(seven);
});
