import { expect, test } from "vitest";
import { openWorkspace } from "./workspace.test-support.ts";
import type { Workspace } from "./workspace.ts";

async function paths(files: Workspace): Promise<string[]> {
  return (await files.glob("**/*")).map(({ path }) => path);
}

test("a recursive delete of names with % and _ leaves siblings alone", async () => {
  const { files } = openWorkspace();
  for (const path of ["/a%/x", "/ab/x", "/a_b/x", "/axb/x", "/a/x", "/a-b", "/a0"]) await files.writeFile(path, "");
  await files.rm("/a%", { recursive: true });
  await files.rm("/a_b", { recursive: true });
  await files.rm("/a", { recursive: true });
  expect(await paths(files)).toEqual(["/a-b", "/a0", "/ab", "/ab/x", "/axb", "/axb/x"]);
});

test("rm: the root is EPERM, what is missing ENOENT unless forced, what is full ENOTEMPTY", async () => {
  const { files } = openWorkspace();
  await files.writeFile("/d/f", "");
  await files.mkdir("/empty");
  await expect(files.rm("/")).rejects.toMatchObject({ code: "EPERM" });
  await expect(files.rm("/none")).rejects.toMatchObject({ code: "ENOENT" });
  await files.rm("/none", { force: true });
  await expect(files.rm("/d")).rejects.toMatchObject({ code: "ENOTEMPTY" });
  await files.rm("/empty");
  expect(await paths(files)).toEqual(["/d", "/d/f"]);
});

test("deleteFile: true, false for nothing, EISDIR for a directory", async () => {
  const { files } = openWorkspace();
  await files.writeFile("/d/f", "");
  expect(await files.deleteFile("/d/f")).toBe(true);
  expect(await files.deleteFile("/d/f")).toBe(false);
  await expect(files.deleteFile("/d")).rejects.toMatchObject({
    code: "EISDIR",
    message: expect.stringContaining("rm")
  });
  await expect(files.deleteFile("/")).rejects.toMatchObject({ code: "EISDIR" });
});

test("mkdir: EEXIST, ENOENT, ENOTDIR, ELOOP, idempotent when recursive", async () => {
  const { files } = openWorkspace();
  await files.mkdir("/");
  await files.mkdir("/a/b/c", { recursive: true });
  await files.mkdir("/a/b/c", { recursive: true });
  await files.writeFile("/f", "");
  await expect(files.mkdir("/a")).rejects.toMatchObject({ code: "EEXIST" });
  await expect(files.mkdir("/f", { recursive: true })).rejects.toMatchObject({ code: "EEXIST" });
  await expect(files.mkdir("/x/y")).rejects.toMatchObject({ code: "ENOENT" });
  await expect(files.mkdir("/f/y")).rejects.toMatchObject({ code: "ENOTDIR" });
  await expect(files.writeFile("/f/y", "")).rejects.toMatchObject({ code: "ENOTDIR" });
  await expect(files.mkdir("/d".repeat(101), { recursive: true })).rejects.toMatchObject({ code: "ELOOP" });
  await expect(files.writeFile("/e".repeat(102), "")).rejects.toMatchObject({ code: "ELOOP" });
  expect(await paths(files)).toEqual(["/a", "/a/b", "/a/b/c", "/f"]);
});

test("readDir: directories, files, links, each by name; pages cover everything once", async () => {
  const { files } = openWorkspace();
  await files.mkdir("/z");
  await files.mkdir("/b");
  await files.writeFile("/c", "");
  await files.writeFile("/a", "");
  await files.symlink("/nowhere", "/0");
  const all = await files.readDir();
  expect(all.map(({ name }) => name)).toEqual(["b", "z", "a", "c", "0"]);
  expect(all.at(-1)).toMatchObject({ type: "symlink", target: "/nowhere" });
  const pages = await Promise.all([0, 2, 4].map(async (offset) => await files.readDir("/", { limit: 2, offset })));
  expect(pages.flat()).toEqual(all);
  expect(await files.readDir("/none")).toEqual([]);
  await expect(files.readDir("/none", { strict: true })).rejects.toMatchObject({ code: "ENOENT" });
  await expect(files.readDir("/a", { strict: true })).rejects.toMatchObject({ code: "ENOTDIR" });
});

test("mv: onto itself keeps the file, into itself is EINVAL, a destination directory EISDIR", async () => {
  const { files } = openWorkspace();
  await files.writeFile("/p", "content");
  await files.writeFile("/d/f", "inside");
  await files.mv("/p", "/p");
  await files.mv("/p", "/./x/../p");
  expect(await files.readFile("/p")).toBe("content");
  await files.mv("/d", "/d");
  await expect(files.mv("/d", "/d/e/f")).rejects.toMatchObject({ code: "EINVAL" });
  await expect(files.cp("/d", "/d/e", { recursive: true })).rejects.toMatchObject({ code: "EINVAL" });
  await expect(files.mv("/p", "/d")).rejects.toMatchObject({ code: "EISDIR" });
  await expect(files.mv("/none", "/x")).rejects.toMatchObject({ code: "ENOENT" });
  await expect(files.mv("/", "/x")).rejects.toMatchObject({ code: "EPERM" });
  await expect(files.mv("/d", "/x", { recursive: false })).rejects.toMatchObject({ code: "EISDIR" });
  await expect(files.mv("/d", "/p")).rejects.toMatchObject({ code: "ENOTDIR" });
  await files.mv("/p", "/new/parent/p");
  await files.mv("/new/parent/p", "/d/f");
  expect(await files.readFile("/d/f")).toBe("content");
  expect(await paths(files)).toEqual(["/d", "/d/f", "/new", "/new/parent"]);
});

test("a directory of 2,500 files is moved and copied whole, by few statements", async () => {
  const { files, database } = openWorkspace();
  for (let index = 0; index < 2_500; index += 1) await files.writeFile(`/many/é/${index}`, `${index}`);
  const before = database.statements;
  await files.mv("/many", "/moved/deeper");
  expect(database.statements - before).toBeLessThan(20);
  expect(await files.exists("/many")).toBe(false);
  await files.cp("/moved", "/copied", { recursive: true });
  expect((await files.glob("/moved/deeper/é/*")).length).toBe(2_500);
  expect((await files.readDir("/copied/deeper/é", { limit: 3_000 })).length).toBe(2_500);
  expect(await files.readFile("/copied/deeper/é/2499")).toBe("2499");
  expect(await files.readDir("/moved/deeper/é", { limit: 1 })).toMatchObject([
    { path: "/moved/deeper/é/0", name: "0" }
  ]);
});

test("a move that would make a path too long changes nothing", async () => {
  const { files } = openWorkspace();
  await files.writeFile(`/d/${"x".repeat(4_000)}`, "");
  await expect(files.mv("/d", `/${"y".repeat(200)}`)).rejects.toMatchObject({ code: "ENAMETOOLONG" });
  expect(await files.exists(`/d/${"x".repeat(4_000)}`)).toBe(true);
});

test("cp: ENOENT, EISDIR, links as links, types kept, a file overwritten", async () => {
  const { files } = openWorkspace();
  await files.writeFile("/a", "a", "text/x-special");
  await files.writeFile("/b", "b");
  await files.symlink("a", "/link");
  await expect(files.cp("/none", "/x")).rejects.toMatchObject({ code: "ENOENT" });
  await files.mkdir("/d");
  await expect(files.cp("/d", "/x")).rejects.toMatchObject({ code: "EISDIR" });
  await files.cp("/a", "/b");
  await files.cp("/link", "/d/link");
  expect(await files.stat("/b")).toMatchObject({ mimeType: "text/x-special", size: 1 });
  expect(await files.readlink("/d/link")).toBe("a");
});

test("links: chains, directories in the middle, dangling targets, what follows them and what does not", async () => {
  const { files } = openWorkspace();
  await files.writeFile("/real/dir/f", "content");
  await files.symlink("/real", "/one");
  await files.symlink("../one/dir", "/real/two");
  await files.symlink("/real/two/f", "/chain");
  expect(await files.readFile("/chain")).toBe("content");
  expect(await files.readFile("/one/two/f")).toBe("content");
  await files.writeFile("/one/two/new/g", "made");
  expect(await files.readFile("/real/dir/new/g")).toBe("made");
  expect((await files.readDir("/one/two")).map(({ path }) => path)).toEqual(["/real/dir/new", "/real/dir/f"]);
  await files.symlink("/later/target", "/dangling");
  expect(await files.exists("/dangling")).toBe(true);
  expect(await files.stat("/dangling")).toBeNull();
  expect(await files.fileExists("/dangling")).toBe(false);
  await files.writeFile("/dangling", "through");
  expect(await files.readFile("/later/target")).toBe("through");
  expect(await files.lstat("/dangling")).toMatchObject({ type: "symlink", target: "/later/target" });
  await files.appendFile("/dangling", "!");
  await files.rm("/dangling");
  expect(await files.readFile("/later/target")).toBe("through!");
  await expect(files.readlink("/later/target")).rejects.toMatchObject({ code: "EINVAL" });
  await expect(files.readlink("/none")).rejects.toMatchObject({ code: "ENOENT" });
});

test("a chain of 40 links is followed, 41 and cycles are ELOOP", async () => {
  const { files } = openWorkspace();
  await files.writeFile("/link0", "end");
  for (let hop = 1; hop <= 41; hop += 1) await files.symlink(`/link${hop - 1}`, `/link${hop}`);
  expect(await files.readFile("/link40")).toBe("end");
  await expect(files.readFile("/link41")).rejects.toMatchObject({ code: "ELOOP" });
  await files.symlink("/y", "/x");
  await files.symlink("/x", "/y");
  await expect(files.writeFile("/x", "")).rejects.toMatchObject({ code: "ELOOP" });
  await expect(files.readFile("/x/below")).rejects.toMatchObject({ code: "ELOOP" });
});

test("symlink: blank, too long, existing and root are refused", async () => {
  const { files } = openWorkspace();
  await files.writeFile("/f", "");
  await expect(files.symlink(" ", "/l")).rejects.toMatchObject({ code: "EINVAL" });
  await expect(files.symlink("x".repeat(4_097), "/l")).rejects.toMatchObject({ code: "ENAMETOOLONG" });
  await expect(files.symlink("/x", "/f")).rejects.toMatchObject({ code: "EEXIST" });
  await expect(files.symlink("/x", "/")).rejects.toMatchObject({ code: "EPERM" });
  await expect(files.symlink("/x", "/f/l")).rejects.toMatchObject({ code: "ENOTDIR" });
});

test("glob: every type, by path, never the root, only the exact entry without wildcards", async () => {
  const { files } = openWorkspace();
  for (const path of ["/src/a.ts", "/src/lib/b.ts", "/src/c.js", "/.env"]) await files.writeFile(path, "");
  await files.symlink("/x", "/src/link.ts");
  expect((await files.glob("src/**/*.ts")).map(({ path }) => path)).toEqual([
    "/src/a.ts",
    "/src/lib/b.ts",
    "/src/link.ts"
  ]);
  expect(await paths(files)).toEqual([
    "/.env",
    "/src",
    "/src/a.ts",
    "/src/c.js",
    "/src/lib",
    "/src/lib/b.ts",
    "/src/link.ts"
  ]);
  expect((await files.glob("src/{*.js,lib/*}")).map(({ path }) => path)).toEqual(["/src/c.js", "/src/lib/b.ts"]);
  expect(await files.glob("/src/c.js")).toHaveLength(1);
  expect(await files.glob("/")).toEqual([]);
  expect(await files.glob("/nothing")).toEqual([]);
});
