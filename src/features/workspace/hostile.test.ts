// Names and sizes made to break a file system.
import { expect, test, vi } from "vitest";
import { openWorkspace } from "./workspace.test-support.ts";

// Thousands of entries, and files as large as they may be.
vi.setConfig({ testTimeout: 30_000 });

test.each(["/a\0b", "\0", "/x/\ud800", "/\udfff.txt"])("%j is no path", async (path) => {
  const { files } = openWorkspace();
  await expect(files.writeFile(path, "")).rejects.toMatchObject({ code: "EINVAL" });
  await expect(files.readFile(path)).rejects.toMatchObject({ code: "EINVAL" });
  await expect(files.symlink(path, "/l")).rejects.toMatchObject({ code: "EINVAL" });
  await expect(files.glob(path)).rejects.toMatchObject({ code: "EINVAL" });
});

test("a path has 4,096 characters at most, however it is spelled", async () => {
  const { files } = openWorkspace();
  const longest = `/${"n".repeat(4_095)}`;
  await files.writeFile(longest, "x");
  expect(await files.readFile(longest)).toBe("x");
  for (const path of [`${longest}n`, "a".repeat(10_000), "/😀".repeat(2_000)])
    await expect(files.writeFile(path, "")).rejects.toMatchObject({ code: "ENAMETOOLONG" });
  await files.writeFile(`${"./".repeat(10_000)}short`, "y");
  expect(await files.readFile("/short")).toBe("y");
});

test.each(["..", "/../..", "/a/../..", "/./."])("%s is the root, and nothing lies outside of it", async (path) => {
  const { files } = openWorkspace();
  await expect(files.writeFile(path, "")).rejects.toMatchObject({ code: "EISDIR" });
  await files.writeFile(`${path}/../../etc/passwd`, "x");
  expect(await files.readFile("/etc/passwd")).toBe("x");
});

test.each([
  "CON",
  "aux.txt",
  "NUL",
  "com1",
  "a:b",
  "C:\\x",
  "%2e%2e",
  "'; DROP TABLE cf_workspace_default; --",
  '"quoted"',
  "new\nline",
  "\u202Etxt.exe",
  "__proto__",
  "constructor",
  " ",
  "...",
  "-rf",
  "*",
  "[x]",
  "{a,b}",
  "?",
  "~",
  "\\"
])("%j is an ordinary name", async (name) => {
  const { files } = openWorkspace();
  await files.writeFile(`/d/${name}`, name);
  await files.writeFile("/d/neighbour", "");
  expect(await files.readFile(`/d/${name}`)).toBe(name);
  expect((await files.readDir("/d")).map((entry) => entry.name).sort()).toEqual([name, "neighbour"].sort());
  await files.mv(`/d/${name}`, `/e/${name}`);
  await files.rm(`/e/${name}`);
  expect((await files.glob("**/*")).map(({ path }) => path)).toEqual(["/d", "/d/neighbour", "/e"]);
});

test("names that differ in case, or in how an accent is written, are different files", async () => {
  const { files } = openWorkspace();
  const names = ["readme", "README", "Readme", "caf\u00e9", "cafe\u0301"];
  for (const name of names) await files.writeFile(`/${name}`, name);
  for (const name of names) expect(await files.readFile(`/${name}`)).toBe(name);
  expect(await files.readDir()).toHaveLength(names.length);
});

test("a directory of 20,000 files is listed, searched, moved and deleted", async () => {
  const { files, database } = openWorkspace();
  database.sqlite.exec("BEGIN");
  for (let index = 0; index < 20_000; index += 1) await files.writeFile(`/big/${index}`, "x");
  database.sqlite.exec("COMMIT");
  expect(await files.readDir("/big")).toHaveLength(1_000);
  expect(await files.countDir("/big")).toBe(20_000);
  expect(await files.glob("/big/1999?")).toHaveLength(10);
  await files.mv("/big", "/bigger");
  expect(await files.readDir("/bigger", { limit: 5, offset: 19_998 })).toHaveLength(2);
  await files.rm("/bigger", { recursive: true });
  expect(await files.getWorkspaceInfo()).toMatchObject({ fileCount: 0, directoryCount: 1 });
});
