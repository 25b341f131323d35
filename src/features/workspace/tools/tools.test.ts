import { convertToModelMessages, type Tool, type UIMessage } from "ai";
import { describe, expect, test, vi } from "vitest";
import { openWorkspace, patternedBytes } from "../workspace.test-support.ts";
import type { WorkspaceLike } from "../workspace-like.ts";
import { callTool, FolderFiles, MemoryFiles, modelOutput } from "./backends.test-support.ts";
import { createWorkspaceTools } from "./create-workspace-tools.ts";
import { createDeleteTool } from "./delete.ts";
import { createEditTool } from "./edit.ts";
import { createFindTool } from "./find.ts";
import { createGrepTool } from "./grep.ts";
import { createListTool } from "./list.ts";
import { createReadTool } from "./read.ts";
import { createWriteTool } from "./write.ts";
import { IS_AI_6 } from "../../../testing/model/installed-model.test-support.ts";

const PNG = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13);
const PDF = new TextEncoder().encode("%PDF-1.7 …");
const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");

describe.each<[name: string, open: () => WorkspaceLike]>([
  ["a workspace", () => openWorkspace().files],
  ["a folder", () => new FolderFiles()],
  ["a map that answers later", () => new MemoryFiles()]
])("on %s", (_name, open) => {
  test("what is written can be read, listed, found, searched, edited and deleted", async () => {
    const tools = createWorkspaceTools(open());
    expect(await callTool(tools.write, { path: "src/a.ts", content: "one\ntwö\n" })).toEqual({
      path: "/src/a.ts",
      bytesWritten: 9,
      lines: 3,
      diff: "--- /dev/null\n+++ /src/a.ts\n@@ -0,0 +1,2 @@\n+one\n+twö\n"
    });
    expect(await callTool(tools.read, { path: "/src/a.ts" })).toEqual({
      path: "/src/a.ts",
      content: "1\tone\n2\ttwö\n3\t",
      totalLines: 3
    });
    expect(await callTool(tools.list, { path: "/src" })).toMatchObject({ count: 1, entries: ["a.ts (9 B)"], total: 1 });
    expect(await callTool(tools.find, { pattern: "**/*.ts" })).toEqual({
      pattern: "**/*.ts",
      count: 1,
      files: ["/src/a.ts"]
    });
    expect(await callTool(tools.grep, { query: "TW." })).toMatchObject({
      totalMatches: 1,
      matches: ["/src/a.ts:2: twö"]
    });
    expect(await callTool(tools.edit, { path: "/src/a.ts", old_string: "one", new_string: "$&" })).toMatchObject({
      replaced: true,
      lines: 3
    });
    expect(await callTool(tools.read, { path: "/src/a.ts", offset: 1, limit: 1 })).toMatchObject({ content: "1\t$&" });
    expect(await callTool(tools.delete, { path: "/src" })).toEqual({ error: expect.stringMatching(/^ENOTEMPTY/) });
    expect(await callTool(tools.delete, { path: "/src", recursive: true })).toEqual({ deleted: "/src" });
    expect(await callTool(tools.delete, { path: "/src" })).toEqual({ deleted: "/src", existed: false });
    expect(await callTool(tools.read, { path: "/src/a.ts" })).toEqual({ error: "File not found: /src/a.ts" });
    expect(await callTool(tools.list, { path: "/src" })).toEqual({ error: "Directory not found: /src" });
  });
});

describe("read", () => {
  test("lines have their numbers in the file; long lines and long files are cut as stated", async () => {
    const { files } = openWorkspace();
    const read = createReadTool({ ops: files });
    await files.writeFile("/f", Array.from({ length: 2_500 }, (_, index) => `l${index + 1}`).join("\n"));
    expect(await callTool(read, { path: "/f", offset: 10, limit: 2 })).toEqual({
      path: "/f",
      content: "10\tl10\n11\tl11",
      totalLines: 2_500,
      fromLine: 10,
      toLine: 11
    });
    const whole = await callTool<{ content: string }>(read, { path: "/f" });
    expect(whole.content.split("\n").slice(-2)).toEqual(["2000\tl2000", "... (500 more lines truncated)"]);
    expect(await callTool(read, { path: "/f", offset: 2 })).toMatchObject({ fromLine: 2, toLine: 2_001 });
    expect(await callTool(read, { path: "/f", offset: 2_501 })).toEqual({
      error: "/f has 2500 lines; there is no line 2501"
    });
    await files.writeFile("/long", "x".repeat(5_000));
    expect(await callTool(read, { path: "/long" })).toMatchObject({
      content: `1\t${"x".repeat(2_000)}... (truncated)`
    });
    await files.writeFile("/wide", `${"y".repeat(1_900)}\n`.repeat(2_000));
    expect((await callTool<{ content: string }>(read, { path: "/wide" })).content.length).toBeLessThan(210_000);
  });

  test("an image stored without a type, and a PDF, are recognised by their bytes; bytes are never in the output", async () => {
    const { files } = openWorkspace();
    const read = createReadTool({ ops: files });
    await files.writeFileBytes("/pic", PNG);
    await files.writeFileBytes("/doc", PDF);
    await files.writeFileBytes("/raw", patternedBytes(5_000));
    await files.writeFile("/v.svg", "<svg/>");
    await files.mkdir("/dir");
    expect(await callTool(read, { path: "pic" })).toEqual({
      kind: "image",
      path: "/pic",
      name: "pic",
      mediaType: "image/png",
      sizeBytes: 12,
      sha256: expect.stringMatching(/^[\da-f]{64}$/)
    });
    expect(await callTool(read, { path: "/doc" })).toMatchObject({ kind: "file", mediaType: "application/pdf" });
    expect(await callTool(read, { path: "/raw" })).toMatchObject({
      kind: "binary",
      unsupported: true,
      mediaType: "application/octet-stream"
    });
    expect(await callTool(read, { path: "/v.svg" })).toMatchObject({ content: "1\t<svg/>" });
    expect(await callTool(read, { path: "/dir" })).toEqual({ error: "/dir is a directory, not a file" });
  });

  test("the model is given the bytes on every replay, as its SDK wants them, without a warning", async () => {
    const warn = vi.spyOn(console, "warn");
    const { files } = openWorkspace();
    await files.writeFileBytes("/pic", PNG);
    await files.writeFileBytes("/doc.pdf", PDF);
    const read = createReadTool({ ops: files });
    const message = async (path: string): Promise<UIMessage> => ({
      id: path,
      role: "assistant",
      parts: [
        {
          type: "tool-read",
          toolCallId: path,
          state: "output-available",
          input: { path },
          output: await callTool(read, { path })
        }
      ]
    });
    const messages = [await message("/pic"), await message("/doc.pdf")];
    const sent = JSON.stringify(await convertToModelMessages(messages, { tools: { read } }));
    expect(sent).toContain(base64(PNG));
    expect(sent).toContain(base64(PDF));
    expect(sent).toContain('"filename":"doc.pdf"');
    expect(sent).toContain(IS_AI_6 ? '"type":"image-data"' : '"type":"file"');
    expect(JSON.stringify(messages)).not.toContain(base64(PNG));
    expect(warn).not.toHaveBeenCalled();
    warn.mockRestore();
  });

  test("a replay says when the file is gone, changed, too large, or was shown long ago", async () => {
    const { files } = openWorkspace();
    const read: Tool = createReadTool({ ops: files });
    await files.writeFileBytes("/pic", PNG);
    const output = await callTool(read, { path: "/pic" });
    await files.writeFileBytes("/pic", Uint8Array.of(...PNG, 1));
    expect(await modelOutput(read, { path: "/pic" }, output)).toMatchObject({
      type: "content",
      value: [{ type: "text", text: expect.stringContaining("was changed since") }, {}]
    });
    await files.writeFileBytes("/pic", patternedBytes(3_670_017));
    expect(await modelOutput(read, { path: "/pic" }, output)).toEqual({
      type: "error-text",
      value: expect.stringMatching(/3670017 bytes.*3670016 bytes/)
    });
    await files.rm("/pic");
    expect(await modelOutput(read, { path: "/pic" }, output)).toEqual({
      type: "error-text",
      value: "File not found: /pic"
    });
    const old: Tool = createReadTool({ ops: files, showsMedia: () => false });
    expect(await modelOutput(old, { path: "/pic" }, output)).toMatchObject({
      type: "text",
      value: expect.stringContaining("shown earlier")
    });
  });

  test("outputs of any age are shown: text, errors, a bare text, what is not known", async () => {
    const read: Tool = createReadTool({ ops: openWorkspace().files });
    expect(await modelOutput(read, {}, { path: "/f", content: "1\tx", totalLines: 1 })).toEqual({
      type: "text",
      value: "1\tx"
    });
    expect(await modelOutput(read, {}, { error: "File not found: /f" })).toEqual({
      type: "error-text",
      value: "File not found: /f"
    });
    expect(await modelOutput(read, {}, "old")).toEqual({ type: "text", value: "old" });
    expect(await modelOutput(read, {}, { kind: "binary", n: 1 })).toEqual({
      type: "json",
      value: { kind: "binary", n: 1 }
    });
  });
});

describe("write and edit", () => {
  test("a person sees the change, the model only that it was made", async () => {
    const { files } = openWorkspace();
    const write: Tool = createWriteTool({ ops: files });
    await files.writeFile("/f", "a\nb\n");
    const output = await callTool<{ diff: string }>(write, { path: "/f", content: "a\nc\n" });
    expect(output.diff).toBe("--- /f\n+++ /f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
    expect(await modelOutput(write, {}, output)).toEqual({
      type: "json",
      value: { path: "/f", bytesWritten: 4, lines: 3 }
    });
    const huge = await callTool<{ diff: string }>(write, { path: "/g", content: "line\n".repeat(9_000) });
    expect(huge.diff.length).toBeLessThan(20_100);
  });

  test("edit answers as tabled", async () => {
    const { files } = openWorkspace();
    const edit = createEditTool({ ops: files });
    const run = async (old_string: string, new_string: string, path = "/f") =>
      await callTool(edit, { path, old_string, new_string });
    expect(await run("", "first\n")).toMatchObject({ path: "/f", created: true, lines: 2 });
    expect(await run("", "again")).toEqual({ error: expect.stringContaining("already exists") });
    expect(await run("x", "y", "/none")).toEqual({ error: "File not found: /none" });
    expect(await run("first", "a b  c a b")).toMatchObject({ replaced: true });
    expect(await run("a", "z")).toEqual({ error: expect.stringContaining("appears 2 times") });
    expect(await run("b c", "B")).toMatchObject({ replaced: true, fuzzyMatch: true });
    expect(await files.readFile("/f")).toBe("a B a b\n");
    expect(await run("nothing", "x")).toEqual({ error: expect.stringContaining("not found") });
    await files.writeFile("/g", "p  q\np\tq");
    expect(await run("p q", "x", "/g")).toEqual({ error: expect.stringContaining("multiple locations") });
    expect(await callTool(edit, { path: "/g", old_string: "p", new_string: "r", replace_all: true })).toMatchObject({
      replacements: 2
    });
    expect(await files.readFile("/g")).toBe("r  q\nr\tq");
  });

  test("a file that is no text is refused and stays as it is", async () => {
    const { files } = openWorkspace();
    await files.writeFileBytes("/b", Uint8Array.of(97, 0xff, 98));
    expect(await callTool(createEditTool({ ops: files }), { path: "/b", old_string: "a", new_string: "c" })).toEqual({
      error: expect.stringContaining("not a text file")
    });
    expect(await files.readFileBytes("/b")).toEqual(Uint8Array.of(97, 0xff, 98));
  });

  test("a directory is named as one", async () => {
    const { files } = openWorkspace();
    await files.mkdir("/d");
    expect(await callTool(createWriteTool({ ops: files }), { path: "/d", content: "x" })).toEqual({
      error: "EISDIR: /d is a directory"
    });
    expect(await callTool(createEditTool({ ops: files }), { path: "/d", old_string: "a", new_string: "b" })).toEqual({
      error: "EISDIR: /d is a directory"
    });
  });
});

describe("list and find", () => {
  test("pages cover all entries once, and say that there are more", async () => {
    const { files } = openWorkspace();
    const list = createListTool({ ops: files });
    for (let index = 0; index < 25; index += 1) await files.writeFile(`/d/${index}`, "x".repeat(index * 100));
    await files.mkdir("/d/sub");
    await files.symlink("/x", "/d/link");
    const pages = [0, 10, 20].map(
      async (offset) =>
        await callTool<{ entries: string[]; total: number; truncated?: boolean }>(list, {
          path: "/d",
          limit: 10,
          offset
        })
    );
    const [first, second, third] = await Promise.all(pages);
    expect([first!.truncated, second!.truncated, third!.truncated]).toEqual([true, true, undefined]);
    expect(first!.total).toBe(27);
    const all = [first!, second!, third!].flatMap(({ entries }) => entries);
    expect(new Set(all).size).toBe(27);
    expect(all).toContain("sub/");
    expect(all).toContain("link");
    expect(all).toContain("24 (2.3 KB)");
    expect(await callTool(list, { path: "/d/1" })).toEqual({ error: "/d/1 is not a directory" });
    expect(await callTool(list, {})).toMatchObject({ path: "/", entries: ["d/"] });
  });

  test("find counts all 500 matches and shows 200", async () => {
    const { files } = openWorkspace();
    for (let index = 0; index < 500; index += 1) await files.writeFile(`/f${index}.txt`, "");
    const found = await callTool<{ files: string[] }>(createFindTool({ ops: files }), { pattern: "*.txt" });
    expect(found).toMatchObject({ count: 500, truncated: true, showing: 200 });
    expect(found.files).toHaveLength(200);
    await files.mkdir("/dir");
    expect(await callTool(createFindTool({ ops: files }), { pattern: "/dir" })).toMatchObject({ files: ["/dir/"] });
    expect(await callTool(createFindTool({ ops: files }), { pattern: "?".repeat(3_000) })).toEqual({
      error: expect.stringContaining("too large")
    });
  });
});

describe("grep", () => {
  async function search(contents: Record<string, string | Uint8Array>, input: object) {
    const { files } = openWorkspace();
    for (const [path, content] of Object.entries(contents))
      await (typeof content === "string" ? files.writeFile(path, content) : files.writeFileBytes(path, content));
    return await callTool<{ matches: unknown[] }>(createGrepTool({ ops: files }), input);
  }

  test("case, fixed text, include and context are honoured", async () => {
    const contents = { "/a.ts": "Alpha\nbeta\ngamma\n", "/b.md": "alpha." };
    expect(await search(contents, { query: "alpha" })).toMatchObject({
      filesSearched: 2,
      filesWithMatches: 2,
      totalMatches: 2
    });
    expect(await search(contents, { query: "alpha", caseSensitive: true })).toMatchObject({
      matches: ["/b.md:1: alpha."]
    });
    expect(await search(contents, { query: "a.", fixedString: true })).toMatchObject({ matches: ["/b.md:1: alpha."] });
    expect(await search(contents, { query: "a", include: "*.ts", contextLines: 1 })).toMatchObject({
      filesSearched: 1,
      matches: [{ file: "/a.ts", line: 1, context: "> 1\tAlpha\n  2\tbeta" }, { line: 2 }, { line: 3 }]
    });
  });

  test("large files are skipped with a note, others than text are not searched, long lines are cut", async () => {
    const result = await search(
      {
        "/big.txt": `needle${"x".repeat(1_048_576)}`,
        "/pic.png": "needle",
        "/raw": Uint8Array.of(0, 110, 101),
        "/long.txt": `needle${"y".repeat(9_000)}`
      },
      { query: "needle" }
    );
    expect(result).toMatchObject({ totalMatches: 1, filesSkipped: 1, note: expect.stringContaining("1 MB") });
    expect(String(result.matches[0]).length).toBeLessThan(2_100);
  });

  test("it stops at 200 matches, one for a line", async () => {
    expect(await search({ "/f.txt": "x x x\n".repeat(500) }, { query: "x" })).toMatchObject({
      totalMatches: 200,
      truncated: true
    });
  });

  test("a bad expression is an error, one that cannot be supported says why", async () => {
    expect(await search({}, { query: "(" })).toEqual({ error: "Invalid regex: (" });
    expect(await search({}, { query: "(?=x)" })).toEqual({
      error: expect.stringContaining("look-around is not supported")
    });
  });

  test("an expression made to explode ends at once, and one that is too complex says so", async () => {
    const text = `${"a".repeat(100_000)}!\n`;
    expect(await search({ "/f.txt": text }, { query: "^(a+)+$" })).toMatchObject({ totalMatches: 0 });
    let state = 7;
    const random = Array.from({ length: 900_000 }, () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return state & 0x10000 ? "a" : "b";
    }).join("");
    expect(await search({ "/f.txt": `${random}\n` }, { query: "(a|b)*a(a|b){300}c" })).toMatchObject({
      note: expect.stringContaining("too complex")
    });
  });

  test("lines with CRLF end where a person sees them end", async () => {
    expect(await search({ "/f.txt": "one\r\ntwo\r\n" }, { query: "one$" })).toMatchObject({
      matches: ["/f.txt:1: one"]
    });
  });

  test("a stopped turn stops the search", async () => {
    const { files } = openWorkspace();
    await files.writeFile("/f", "x");
    const grep = createGrepTool({ ops: files });
    await expect(callTool(grep, { query: "x" }, AbortSignal.abort())).rejects.toThrow();
  });
});

test("inputs are checked: missing, of the wrong type, out of bounds; numbers as text are taken", async () => {
  const { files } = openWorkspace();
  await files.writeFile("/f", "1\n2\n3");
  const read = createReadTool({ ops: files });
  await expect(callTool(read, {})).rejects.toThrow('"path" is missing.');
  await expect(callTool(read, { path: 1 })).rejects.toThrow('"path" must be a text.');
  await expect(callTool(read, { path: "/f", offset: 0 })).rejects.toThrow("a whole number from 1");
  expect(await callTool(read, { path: "/f", offset: "2", limit: null })).toMatchObject({ fromLine: 2 });
  await expect(callTool(createDeleteTool({ ops: files }), { path: "/" })).resolves.toEqual({
    error: expect.stringMatching(/^EPERM/)
  });
});

test("a failure of the storage fails the call", async () => {
  const { files, database } = openWorkspace();
  database.failure = () => new Error("disk full");
  await expect(callTool(createWriteTool({ ops: files }), { path: "/f", content: "x" })).rejects.toThrow("disk full");
});
