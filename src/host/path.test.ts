import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { descendantPrefix, looksLikeSubAgentPath, parsePathKey, parseSubAgentPath, pathKey } from "./path.ts";

const knownClasses = ["Member", "SubTask", "AIAssistant"];
const parse = (url: string) => parseSubAgentPath(url, { knownClasses });

describe("a sub-agent's URL", () => {
  test.each([
    ["/agents/team/a/sub/member/bob", { className: "Member", name: "bob", remainingPath: "/" }],
    ["/agents/team/a/sub/member/bob/files/x", { className: "Member", name: "bob", remainingPath: "/files/x" }],
    ["/agents/team/a/sub/member/a%2Fb?q=1", { className: "Member", name: "a/b", remainingPath: "/" }],
    ["/agents/team/a/sub/sub-task/1/sub/member/2", { className: "SubTask", name: "1", remainingPath: "/sub/member/2" }],
    ["/agents/team/sub/sub/member/bob", { className: "Member", name: "bob", remainingPath: "/" }],
    ["https://x.dev/base/sub/a-i-assistant/100%25", { className: "AIAssistant", name: "100%", remainingPath: "/" }],
    ["/agents/team/a/sub/member/%E0%A4%A/sub/member/ok", { className: "Member", name: "ok", remainingPath: "/" }]
  ])("%s addresses the first child it names", (url, expected) => {
    expect(parse(url)).toEqual(expected);
  });

  test.each([
    "/agents/team/a",
    "/agents/team/a/sub/member",
    "/agents/team/a/sub/member/",
    "/agents/team/a/sub/stranger/x",
    "/"
  ])("%s addresses no child", (url) => {
    expect(parse(url)).toBeUndefined();
  });

  test("any name survives encoding and decoding exactly once", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: "grapheme" }), (name) => {
        expect(parse(`/agents/team/a/sub/member/${encodeURIComponent(name)}/rest`)).toEqual({
          className: "Member",
          name,
          remainingPath: "/rest"
        });
      })
    );
  });

  test("a path that names an unknown class is recognised as lost, a root named sub is not", () => {
    expect(looksLikeSubAgentPath("/agents/team/a/sub/stranger/x", "a")).toBe(true);
    expect(looksLikeSubAgentPath("/agents/team/sub/extra/more", "sub")).toBe(false);
    expect(looksLikeSubAgentPath("/agents/team/a", "a")).toBe(false);
  });
});

const step = fc.record({ className: fc.constantFrom("A", "B"), name: fc.string() });

test("a path key reads back as its path, and only descendants share its prefix", () => {
  fc.assert(
    fc.property(
      fc.array(step, { minLength: 1, maxLength: 3 }),
      fc.array(step, { minLength: 1, maxLength: 3 }),
      (path, other) => {
        expect(parsePathKey(pathKey(path))).toEqual(path);
        const isDescendant = other.length > path.length && pathKey(other.slice(0, path.length)) === pathKey(path);
        expect(pathKey(other).startsWith(descendantPrefix(path))).toBe(isDescendant);
      }
    )
  );
});
