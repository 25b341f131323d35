import { expect, test, vi } from "vitest";
import { env, rawStub, uniqueName } from "./world.ts";

// The interpreter is transformed and loaded on first use.
vi.setConfig({ testTimeout: 60_000 });

test("every operation of the workspace is one that workerd allows", async () => {
  expect(await rawStub(env.Librarian, uniqueName()).tour()).toEqual({
    paths: ["/big", "/copy", "/link", "/moved", "/moved/é", "/moved/é/a.txt", "/moved/é/b.txt", "/x", "/x/y", "/x/y/z"],
    text: "one\ntwo\n",
    size: 3_000_003,
    copy: 3_000_003,
    versions: [20, 1],
    info: { fileCount: 4, directoryCount: 6, totalBytes: 6_000_021, r2FileCount: 0 }
  });
});

test("a workspace on ctx.storage.sql has transactions: a failure half way leaves nothing", async () => {
  expect(await rawStub(env.Librarian, uniqueName()).half()).toEqual([]);
});

test("bash runs in workerd, over the workspace", async () => {
  const stub = rawStub(env.Librarian, uniqueName());
  expect(
    await stub.script(
      "mkdir d; seq 1 5 | awk '{ s += $1 } END { print s }' > d/sum; cat d/sum; echo '{\"a\":1}' | jq .a"
    )
  ).toMatchObject({
    stdout: "15\n1\n",
    exitCode: 0,
    changedFiles: { created: ["/d/sum"], directoriesCreated: ["/d"] }
  });
  expect(await stub.script("sleep 100", 300)).toMatchObject({ exitCode: 124 });
});
