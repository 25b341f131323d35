// `state.*`: changes of several files as one step, and what files differ in.
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { open, outcomeOf, runs, say, scene, TOOLS } from "./execute-kit.ts";

const SETUP = `await state.writeFile({ path: "/a.txt", content: "one\\ntwo\\n" });`;

test("edits are planned, looked at and applied; several edits of a file are made in their order", async () => {
  const code = `${SETUP}
    const plan = await state.planEdits({ edits: [
      { path: "/a.txt", search: "two", replacement: "$& three" },
      { path: "/a.txt", search: "three", replacement: "four" },
      { path: "/b.json", value: { n: 1 } }
    ] });
    const before = await state.readFile({ path: "/a.txt" });
    const dry = await state.applyEditPlan({ plan, dryRun: true });
    const dryText = await state.readFile({ path: "/a.txt" });
    const { totalChanged } = await state.applyEditPlan({ plan });
    [plan.edits[0].diff, before, dryText, dry.totalChanged, totalChanged,
      await state.readFile({ path: "/a.txt" }), await state.readJson({ path: "/b.json" })]`;
  const { result } = (await outcomeOf(code, { tools: TOOLS })) as { result: unknown[] };
  expect(result).toEqual([
    "--- /a.txt\n+++ /a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+$& four\n",
    "one\ntwo\n",
    "one\ntwo\n",
    2,
    2,
    "one\n$& four\n",
    { n: 1 }
  ]);
});

test("a plan is applied whole or not at all: a file that has changed since is not overwritten", async () => {
  const code = `${SETUP}
    const plan = await state.planEdits({ edits: [
      { path: "/new.txt", content: "x" }, { path: "/a.txt", search: "two", replacement: "2" }] });
    await state.writeFile({ path: "/a.txt", content: "other" });
    let failure; try { await state.applyEditPlan({ plan }) } catch (e) { failure = e.message }
    [failure, await state.readFile({ path: "/a.txt" }), await state.exists({ path: "/new.txt" })]`;
  const { result } = (await outcomeOf(code, { tools: TOOLS })) as { result: unknown[] };
  expect(result).toEqual([expect.stringContaining("plan again"), "other", false]);
});

test("a write that fails takes back those before it", async () => {
  const code = `${SETUP} await state.mkdir({ path: "/dir" });
    const edits = [{ path: "/a.txt", content: "changed" }, { path: "/fresh.txt", content: "x" }, { path: "/a.txt/under", content: "y" }];
    let failure = "none"; try { await state.applyEdits({ edits }) } catch (e) { failure = "failed" }
    [failure, await state.readFile({ path: "/a.txt" }), await state.exists({ path: "/fresh.txt" })]`;
  expect(await outcomeOf(code, { tools: TOOLS })).toMatchObject({ result: ["failed", "one\ntwo\n", false] });
});

test("differences of files and texts; a missing parameter is named with its method", async () => {
  const code = `${SETUP} await state.writeFile({ path: "/b.txt", content: "one\\n2\\n" });
    let failure; try { await state.planEdits({}) } catch (e) { failure = e.message }
    [await state.diff({ path: "/a.txt", otherPath: "/b.txt" }), await state.diffContent({ path: "/a.txt", content: "one\\ntwo\\n" }), failure]`;
  expect(await outcomeOf(code, { tools: TOOLS })).toMatchObject({
    result: [
      "--- /a.txt\n+++ /b.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n",
      "",
      "Invalid arguments for state.planEdits: args.edits is missing"
    ]
  });
});

test("everything it has is declared to the model", async () => {
  const host = open(runs("1"), {});
  await say(host);
  const [call] = scene.script.calls;
  const description = JSON.stringify(call?.tools);
  for (const name of ["planEdits", "applyEditPlan", "applyEdits", "diff", "replaceInFiles", "symlink"])
    expect(description).toContain(`${name}(args:`);
});

const TREE = `for (const path of ["/t/a.md", "/t/b.txt", "/t/deep/c.md", "/t/deep/more/d.md"])
    await state.writeFile({ path, content: "text of " + path });`;

test("trees are walked, searched, copied, moved and removed", async () => {
  const code = `${TREE}
    const paths = ({ entries }) => entries.map((one) => one.path).sort();
    const all = await state.walkTree({ path: "/t" });
    const shallow = await state.walkTree({ path: "/t", maxDepth: 1 });
    const found = await state.find({ path: "/t", name: "*.md" });
    const folders = await state.find({ path: "/t", type: "directory", name: "m?re" });
    const types = await state.readdirWithFileTypes({ path: "/t" });
    await state.copyTree({ src: "/t", dest: "/u" });
    await state.moveTree({ src: "/u/deep", dest: "/v" });
    await state.removeTree({ path: "/t" });
    [paths(all), all.truncated, paths(shallow), paths(found), paths(folders), types,
      await state.exists({ path: "/t" }), await state.readFile({ path: "/v/more/d.md" }), await state.exists({ path: "/u/deep" })]`;
  const { result } = (await outcomeOf(code, { tools: TOOLS })) as { result: unknown[] };
  expect(result).toEqual([
    ["/t/a.md", "/t/b.txt", "/t/deep", "/t/deep/c.md", "/t/deep/more", "/t/deep/more/d.md"],
    false,
    ["/t/a.md", "/t/b.txt", "/t/deep"],
    ["/t/a.md", "/t/deep/c.md", "/t/deep/more/d.md"],
    ["/t/deep/more"],
    // Directories first, as the workspace lists them.
    [
      { name: "deep", type: "directory" },
      { name: "a.md", type: "file" },
      { name: "b.txt", type: "file" }
    ],
    false,
    "text of /t/deep/more/d.md",
    false
  ]);
});

test("links are followed to where they lead, and not for ever", async () => {
  const code = `${TREE}
    await state.symlink({ target: "/t/deep", path: "/link" });
    await state.symlink({ target: "/two", path: "/one" }); await state.symlink({ target: "/one", path: "/two" });
    const failure = async (path) => { try { return await state.realpath({ path }) } catch (e) { return e.message } };
    [await state.realpath({ path: "/link/../b.txt" }), await state.realpath({ path: "/link/more/d.md" }), await failure("/one"), await failure("/nothing")]`;
  const { result } = (await outcomeOf(code, { tools: TOOLS })) as { result: unknown[] };
  expect(result).toEqual([
    "/t/b.txt",
    "/t/deep/more/d.md",
    expect.stringContaining("more than 40 links"),
    "/nothing does not exist."
  ]);
});

test("one file is searched, changed and hashed", async () => {
  const code = `${SETUP}
    const found = await state.searchText({ path: "/a.txt", query: "o" });
    const changed = await state.replaceInFile({ path: "/a.txt", search: "o", replacement: "$&0" });
    [found, changed, await state.readFile({ path: "/a.txt" }), await state.hashFile({ path: "/a.txt" })]`;
  const { result } = (await outcomeOf(code, { tools: TOOLS })) as { result: unknown[] };
  const content = "$&0ne\ntw$&0\n";
  expect(result).toEqual([
    {
      matches: [
        { line: 1, column: 1, text: "one" },
        { line: 2, column: 3, text: "two" }
      ],
      truncated: false
    },
    { path: "/a.txt", replaced: 2 },
    content,
    createHash("sha256").update(content).digest("hex")
  ]);
});

test("values inside JSON are read, set and deleted, and no prototype is reached", async () => {
  const code = `await state.writeJson({ path: "/d.json", value: { users: [{ name: "ada" }, { name: "bo" }] } });
    const ask = (query) => state.queryJson({ path: "/d.json", query });
    const before = [await ask("users[1].name"), await ask("$.users.0"), await ask("users.length"), await ask("__proto__.x"), await ask("no.where")];
    await state.updateJson({ path: "/d.json", operations: [
      { op: "set", path: "users[0].name", value: "Ada" }, { op: "set", path: "made.on.the.way", value: 1 },
      { op: "delete", path: "users[1]" }, { op: "set", path: "__proto__.polluted", value: true }] });
    let failure; try { await state.updateJson({ path: "/d.json", operations: [{ op: "set", path: "users.x", value: 1 }] }) } catch (e) { failure = e.message }
    [before, await state.readFile({ path: "/d.json" }), failure, ({}).polluted ?? null]`;
  const { result } = (await outcomeOf(code, { tools: TOOLS })) as { result: unknown[] };
  const [before, text, failure, polluted] = result;
  expect(before).toEqual(["bo", { name: "ada" }, 2, null, null]);
  expect(JSON.parse(String(text))).toMatchObject({ users: [{ name: "Ada" }], made: { on: { the: { way: 1 } } } });
  expect(failure).toContain("no place in a list");
  expect([polluted, Reflect.get({}, "polluted")]).toEqual([null, undefined]);
});

test("a quoted key of a query may have a dot", async () => {
  const code = `await state.writeJson({ path: "/d.json", value: { "a.b": [{ "c]d": 1 }] } });
    [await state.queryJson({ path: "/d.json", query: '["a.b"][0]' }), await state.queryJson({ path: "/d.json", query: "$['a.b'][0]['c]d']" })]`;
  expect(await outcomeOf(code, { tools: TOOLS })).toMatchObject({ result: [{ "c]d": 1 }, 1] });
});
