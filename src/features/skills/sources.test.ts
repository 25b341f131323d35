import { describe, expect, test, vi } from "vitest";
import { encodeText } from "../../util/bytes.ts";
import { openWorkspace } from "../workspace/workspace.test-support.ts";
import { DirectorySource } from "./directory-source.ts";
import { fromManifest } from "./manifest-source.ts";
import { r2 } from "./r2-source.ts";
import { manifestOf, MemoryBucket, skillFile } from "./skills.test-support.ts";
import type { SkillResource } from "./skill.ts";
import { workspaceSkills } from "./workspace-source.ts";

const names = (listed: readonly { name: string }[]) => listed.map(({ name }) => name);

describe("a manifest", () => {
  test("paths that leave the skill are neither listed nor read", async () => {
    const bad = ["../input.json", "/etc/passwd", "a//b", "./a", "a/../../b", "a\0b", "", "a\\..\\b"];
    const resources = [...bad, "references/ok.md"].map((path): SkillResource => ({ path, kind: "file", content: "x" }));
    const [skill] = manifestOf().skills;
    const source = fromManifest({ id: "m", fingerprint: "1", skills: [{ ...skill!, resources }] });
    expect((await source.load("greet"))?.resources?.map(({ path }) => path)).toEqual(["references/ok.md"]);
    for (const path of bad) expect(await source.readResource?.("greet", path)).toBeNull();
    expect(await source.readResource?.("greet", "references/ok.md")).toMatchObject({ content: "x" });
  });

  test("contents stay out of what is loaded, and of two skills of a name the first is the one", async () => {
    const first = manifestOf({ "assets/a.bin": Uint8Array.of(0, 255) }).skills[0]!;
    const source = fromManifest({ id: "m", fingerprint: "1", skills: [first, { ...first, body: "second" }] });
    const loaded = await source.load("greet");
    expect(loaded?.body).toBe("Instructions of greet.");
    expect(JSON.stringify(loaded)).not.toContain('"content"');
    expect(await source.readResource?.("greet", "assets/a.bin")).toMatchObject({ encoding: "base64", content: "AP8=" });
    expect(await source.load("other")).toBeNull();
  });

  test("the version of the metadata stands in for one that is not given", async () => {
    const [skill] = manifestOf().skills;
    const source = fromManifest({ id: "m", fingerprint: "1", skills: [{ ...skill!, metadata: { version: "1.2" } }] });
    expect((await source.list())[0]?.version).toBe("1.2");
  });
});

describe("a bucket", () => {
  const filled = () =>
    new MemoryBucket()
      .put("skills/greet/SKILL.md", skillFile("greet"))
      .put("skills/greet/references/guide.md", "guide")
      .put("skills/greet/LICENSE", "MIT")
      .put("skills/greet/assets/a.png", Uint8Array.of(0x89, 0x50, 0, 1))
      .put("skills/bye/SKILL.md", skillFile("bye"))
      .put("skills/deep/er/SKILL.md", skillFile("deeper"))
      .put("skills/SKILL.md", skillFile("root"))
      .put("other/x/SKILL.md", skillFile("x"));

  test("a listing reads only SKILL.md files; the rest is read when it is asked for", async () => {
    const bucket = filled();
    const source = r2(bucket, { prefix: "skills" });
    expect(source.id).toBe("r2:skills/");
    expect(source.fingerprint).toBe("r2:skills/");
    expect(names(await source.list())).toEqual(["bye", "greet"]);
    expect(bucket.reads.toSorted()).toEqual(["skills/bye/SKILL.md", "skills/greet/SKILL.md"]);
    expect((await source.load("greet"))?.resources).toEqual([
      { path: "LICENSE", kind: "file", size: 3 },
      { path: "assets/a.png", kind: "asset", size: 4, mimeType: "image/png" },
      { path: "references/guide.md", kind: "reference", size: 5, encoding: "text", mimeType: "text/markdown" }
    ]);
    expect(await source.readResource?.("greet", "LICENSE")).toMatchObject({ encoding: "text", content: "MIT" });
    expect(await source.readResource?.("greet", "assets/a.png")).toMatchObject({
      encoding: "base64",
      content: "iVAAAQ=="
    });
    expect(await source.readResource?.("greet", "../bye/SKILL.md")).toBeNull();
    expect(await source.readResource?.("greet", "nothing.md")).toBeNull();
  });

  test("the allow-list hides the other skills", async () => {
    const source = r2(filled(), { prefix: "skills/", skills: ["bye"] });
    expect(names(await source.list())).toEqual(["bye"]);
    expect(await source.load("greet")).toBeNull();
    expect(await source.readResource?.("greet", "LICENSE")).toBeNull();
  });

  test("a file that cannot be used costs its own skill and is named with its line", async () => {
    const bucket = filled()
      .put("skills/bad/SKILL.md", "---\nname: bad\ndescription: a: b\n---\n")
      .put("skills/huge/SKILL.md", skillFile("huge", "x".repeat(300_000)))
      .put("skills/copy/SKILL.md", skillFile("greet"));
    const source = r2(bucket, { prefix: "skills/" });
    expect(names(await source.list())).toEqual(["bye", "greet"]);
    expect(source.diagnostics).toMatchObject([
      { file: "bad/SKILL.md", line: 3, isLeftOut: true },
      { file: "copy/SKILL.md", line: 2, reason: expect.stringContaining("directory"), isLeftOut: false },
      { file: "greet/SKILL.md", reason: expect.stringContaining("copy"), isLeftOut: true },
      { file: "huge/SKILL.md", reason: expect.stringContaining("262144"), isLeftOut: true }
    ]);
  });

  test("within the interval there is one listing; after it unchanged files are not read again", async () => {
    const clock = vi.spyOn(Date, "now").mockReturnValue(1_000_000);
    const bucket = filled();
    const source = r2(bucket, { prefix: "skills/" });
    await source.list();
    bucket.put("skills/greet/SKILL.md", skillFile("greet", "New."));
    await source.refresh?.();
    expect((await source.load("greet"))?.body).toBe("Do it.");
    expect(bucket.lists).toBe(1);
    const before = source.fingerprint;
    clock.mockReturnValue(1_060_000);
    bucket.reads.length = 0;
    await source.refresh?.();
    expect(bucket.reads).toEqual(["skills/greet/SKILL.md"]);
    expect((await source.load("greet"))?.body).toBe("New.");
    expect(source.fingerprint).not.toBe(before);
    clock.mockRestore();
  });

  test("with the interval 0 a change is seen in the next turn, by one listing per turn", async () => {
    const bucket = filled();
    const source = r2(bucket, { prefix: "skills/", refreshIntervalMs: 0 });
    for (const turn of [1, 2]) {
      await source.refresh?.();
      await source.list();
      await source.load("greet");
      expect(bucket.lists).toBe(turn);
    }
  });

  test("the fingerprint of contents sees a byte of a binary file, and not a new upload of the same", async () => {
    const bucket = filled();
    const options = { prefix: "skills/", refreshIntervalMs: 0 };
    const [byContent, byMetadata] = [r2(bucket, { ...options, fingerprint: "content" }), r2(bucket, options)];
    const prints = async () => {
      await Promise.all([byContent.refresh?.(), byMetadata.refresh?.()]);
      return [byContent.fingerprint, byMetadata.fingerprint];
    };
    const first = await prints();
    bucket.put("skills/greet/assets/a.png", Uint8Array.of(0x89, 0x50, 0, 1));
    const second = await prints();
    expect(second[0]).toBe(first[0]);
    expect(second[1]).not.toBe(first[1]);
    bucket.put("skills/greet/assets/a.png", Uint8Array.of(0x89, 0x50, 0, 2));
    expect((await prints())[0]).not.toBe(second[0]);
  });

  test("of more than 10,000 files the first are looked at, and a diagnostic says so", async () => {
    const object = (key: string) => ({ key, size: 1, etag: "v1" });
    const references = Array.from({ length: 9_999 }, (_, at) => object(`first/references/${at}.md`));
    const objects = [object("first/SKILL.md"), ...references, object("second/SKILL.md")];
    const get = vi.fn(async (key: string) => {
      const bytes = encodeText(skillFile(key.split("/")[0] ?? ""));
      return { arrayBuffer: async () => bytes.slice().buffer };
    });
    const source = r2({ list: async () => ({ objects, truncated: false }), get });
    expect((await source.list()).map(({ name }) => name)).toEqual(["first"]);
    expect(source.diagnostics).toMatchObject([{ reason: expect.stringContaining("first 10000 files") }]);
    expect(get).toHaveBeenCalledTimes(1);
  });

  test("a resource of 50 MB is listed and never fetched", async () => {
    const reads: string[] = [];
    const source = new DirectorySource({
      id: "big",
      files: {
        list: async () => [
          { path: "greet/SKILL.md", size: 60, tag: "1" },
          { path: "greet/assets/big.bin", size: 50 * 1024 * 1024, tag: "1" }
        ],
        read: async (path) => {
          reads.push(path);
          return new TextEncoder().encode(skillFile("greet"));
        }
      }
    });
    expect((await source.load("greet"))?.resources).toMatchObject([{ size: 52_428_800 }]);
    expect(await source.readResource("greet", "assets/big.bin")).toBeNull();
    expect(reads).toEqual(["greet/SKILL.md"]);
  });
});

describe("a folder of a workspace", () => {
  test("a skill that was written is there at the next refresh, and links are not followed", async () => {
    const { files } = openWorkspace();
    const source = workspaceSkills(files, "/skills/");
    expect(names(await source.list())).toEqual([]);
    await files.writeFile("/secret.txt", "secret");
    await files.writeFile("/skills/greet/SKILL.md", skillFile("greet"));
    await files.writeFile("/skills/greet/references/a.md", "text");
    await files.symlink("/secret.txt", "/skills/greet/references/leak.md");
    await files.writeFile("/private/SKILL.md", skillFile("private"));
    await files.symlink("/private", "/skills/private");
    await source.refresh?.();
    expect(names(await source.list())).toEqual(["greet"]);
    expect((await source.load("greet"))?.resources?.map(({ path }) => path)).toEqual(["references/a.md"]);
    expect(await source.readResource?.("greet", "references/leak.md")).toBeNull();
    expect(await source.readResource?.("greet", "references/a.md")).toMatchObject({ content: "text" });
    await files.writeFile("/skills/greet/SKILL.md", skillFile("greet", "Changed."));
    await source.refresh?.();
    expect((await source.load("greet"))?.body).toBe("Changed.");
  });
});
