import { describe, expect, test } from "vitest";
import { nextVersion, notesOf, obstacles, releasedChangelog, withVersion, type Repository } from "./release-plan.ts";

const CHANGELOG =
  "# Changelog\n\n## Unreleased\n\n### Added\n\n- One thing.\n\n## 0.1.0 (2026-11-19)\n\n- The first.\n";
const ready: Repository = { version: "0.1.0", changelog: CHANGELOG, status: "", branch: "main", tags: ["v0.1.0"] };

test.each([
  ["0.1.0", "patch", "0.1.1"],
  ["0.1.4", "minor", "0.2.0"],
  ["0.9.4", "major", "1.0.0"],
  ["0.2.0-rc.1", "patch", "0.2.0"],
  ["0.1.0", "0.3.0-beta.2", "0.3.0-beta.2"]
])("from %s, %s is %s", (today, wanted, next) => {
  expect(nextVersion(today, wanted)).toBe(next);
});

describe("what stands in the way of a release", () => {
  test("nothing, when all is committed and the changelog says what is new", () => {
    expect(obstacles(ready, "0.2.0")).toEqual([]);
    expect(obstacles(ready, "0.2.0-rc.1")).toEqual([]);
    expect(obstacles({ ...ready, tags: [] }, "0.1.0")).toEqual([]);
  });

  test.each<[string, Partial<Repository>, string, RegExp]>([
    ["a word that is no version", {}, "newest", /is not a version/],
    ["a version that is not above today's", {}, "0.1.0", /is not above/],
    ["a pre-release of a version that is out", {}, "0.1.0-rc.1", /is not above/],
    ["a tag that is there", { tags: ["v0.1.0", "v0.2.0"] }, "0.2.0", /already a tag/],
    ["another branch", { branch: "mine" }, "0.2.0", /made on main/],
    ["changed files", { status: " M src/index.ts" }, "0.2.0", /not committed/],
    ["no notes", { changelog: "# Changelog\n\n## Unreleased\n\n## 0.1.0\n" }, "0.2.0", /is empty/],
    ["no section", { changelog: "# Changelog\n" }, "0.2.0", /no section/],
    ["a patch that removes", { changelog: "## Unreleased\n\n### Removed\n\n- x\n" }, "0.1.1", /must not break/]
  ])("%s", (_name, change, next, message) => {
    expect(obstacles({ ...ready, ...change }, next).join("\n")).toMatch(message);
  });
});

test("the changelog keeps an empty Unreleased above the version that is released", () => {
  const released = releasedChangelog(CHANGELOG, "0.2.0", "2026-12-01");
  expect(notesOf(CHANGELOG)).toBe("### Added\n\n- One thing.");
  expect(notesOf(released)).toBe("");
  expect(released).toContain("## Unreleased\n\n## 0.2.0 (2026-12-01)\n\n### Added\n\n- One thing.\n\n## 0.1.0");
});

test("only the package's own version changes in manifests and lock files", () => {
  const lock = { version: "0.1.0", packages: { "": { version: "0.1.0" }, "node_modules/x": { version: "0.1.0" } } };
  expect(JSON.parse(withVersion(JSON.stringify(lock), "0.2.0"))).toEqual({
    version: "0.2.0",
    packages: { "": { version: "0.2.0" }, "node_modules/x": { version: "0.1.0" } }
  });
  const create = { name: "create-everthink", version: "0.1.0", dependencies: { everthink: "0.1.0" } };
  expect(withVersion(`${JSON.stringify(create, null, 2)}\n`, "0.2.0")).toBe(
    `${JSON.stringify({ ...create, version: "0.2.0", dependencies: { everthink: "0.2.0" } }, null, 2)}\n`
  );
});
