import { describe, expect, test } from "vitest";
import { parseSkillFrontmatter, parseSkillMarkdown, readSkillMarkdown } from "./markdown.ts";

const skill = (frontMatter: string, body = "Do it.\n") => `---\n${frontMatter}\n---\n${body}`;
const VALID = "name: greet\ndescription: How we greet.";

test("front matter with CRLF, a byte order mark, a nested map and a list of tools is read", () => {
  const raw =
    "\uFEFF---\r\nname: greet\r\ndescription: ' How we greet. '\r\nlicense: MIT\r\nallowed-tools:\r\n  - read\r\n  - bash\r\nmetadata:\r\n  author: Ann\r\n  nested:\r\n    a: 1\r\n---\r\n\r\n# Body\r\n";
  expect(parseSkillMarkdown(raw)).toEqual({
    name: "greet",
    description: "How we greet.",
    license: "MIT",
    allowedTools: "read bash",
    metadata: { author: "Ann", nested: { a: 1 } },
    body: "\r\n# Body\r\n",
    rawContent: raw
  });
});

test("the body is everything behind the second fence, untouched", () => {
  expect(parseSkillMarkdown(skill(VALID, "a\n---\nb  "))?.body).toBe("a\n---\nb  ");
  expect(parseSkillMarkdown(`---\n${VALID}\n---`)?.body).toBe("");
});

test("without front matter all is body; YAML that is no mapping is no data", () => {
  expect(parseSkillFrontmatter("# Title\n")).toEqual({ data: {}, body: "# Title\n" });
  expect(parseSkillFrontmatter("---\n- a\n---\nrest")).toEqual({ data: {}, body: "rest" });
  expect(parseSkillFrontmatter("---\n---\nrest")).toEqual({ data: {}, body: "rest" });
  expect(parseSkillFrontmatter("----\nname: x\n----\n").data).toEqual({});
});

describe("what makes a skill unusable is named with its line", () => {
  test.each([
    ["no front matter", "# Greet\n", 1, "first line must be ---"],
    ["a fence that is never closed", `---\n${VALID}\n`, 1, "first line must be ---"],
    ["no description", skill("name: greet"), 1, '"description" is missing'],
    ["a description that is no text", skill("name: greet\ndescription:\n  - a"), 3, '"description" is missing'],
    ["a blank name", skill("description: d\nname: ' '"), 3, '"name" is missing'],
    ["a name with a slash", skill("description: d\nname: ../greet"), 3, '"name" has "/"'],
    ["a name with a line break", skill('description: d\nname: "a\\nb"'), 3, "control characters"],
    ["YAML that cannot be read", skill("name: greet\ndescription: a: b"), 3, "mappings"],
    ["a key twice", skill("name: a\nname: b\ndescription: d"), 3, "unique"],
    [
      "aliases that multiply",
      skill(`a: &a [1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a]\nc: [*b,*b,*b,*b,*b,*b]\n${VALID}`),
      1,
      "alias"
    ],
    ["endless front matter", skill(`${VALID}\nx: ${"y".repeat(40_000)}`), 1, "longer than"]
  ])("%s", (_name, raw, line, reason) => {
    const { skill: read, problems } = readSkillMarkdown(raw, "greet");
    expect(read).toBeNull();
    expect(parseSkillMarkdown(raw)).toBeNull();
    expect(problems[0]).toMatchObject({ line, isFatal: true, reason: expect.stringMatching(new RegExp(reason, "i")) });
  });
});

describe("what is only against the rules is named, and the skill loads", () => {
  test.each([
    ["upper case", skill("name: Greet\ndescription: d"), "Greet", 2, "lower-case"],
    ["two hyphens", skill("name: a--b\ndescription: d"), "a--b", 2, "hyphens"],
    ["another name than its directory", skill(VALID), "hello", 2, "directory"],
    ["a long description", skill(`name: greet\ndescription: ${"d".repeat(1_025)}`), "greet", 3, "1024"],
    ["metadata that are no texts", skill(`${VALID}\nmetadata:\n  version: 2`), "greet", 4, "metadata"],
    ["a long compatibility", skill(`${VALID}\ncompatibility: ${"c".repeat(501)}`), "greet", 4, "500"]
  ])("%s", (_name, raw, directory, line, reason) => {
    const { skill: read, problems } = readSkillMarkdown(raw, directory);
    expect(read).not.toBeNull();
    expect(problems).toEqual([{ line, isFatal: false, reason: expect.stringContaining(reason) }]);
  });
});

test("a valid skill has no problems, and keys it does not know are ignored", () => {
  expect(readSkillMarkdown(skill(`${VALID}\nfuture: 1`), "greet").problems).toEqual([]);
});

test("malformed YAML is an error with its line for callers that parse themselves", () => {
  expect(() => parseSkillFrontmatter(skill("a: [1"))).toThrow(/SKILL\.md:\d+: /);
});
