// `state.*`: changes of several files as one step, and what files differ in.
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
