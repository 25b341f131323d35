import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { blockOf, checkConfig, joinLines, MAX_LABEL_CHARS, type ContextConfig } from "./block.ts";
import { fingerprintOf } from "./block-set.ts";
import { isSearchProvider, isSkillProvider, isWritableProvider, kindOf, tagOf } from "./provider.ts";
import { joinPrompt, renderBlock } from "./render.ts";

const RULE = "══════════════════════════════════════════════";
const get = async () => null;
const readonly = { get };
const writable = { get, set: async (_content: string) => {} };
const skill = { get, load: async (_key: string) => null };
const writableSkill = { ...skill, set: async (_key: string, _content: string) => {} };
const search = { get, search: async (_query: string) => null };

describe("what a provider's methods make of a block", () => {
  test.each([
    ["nothing", undefined, "readonly", false],
    ["get", readonly, "readonly", false],
    ["get and set", writable, "writable", true],
    ["load", skill, "loadable", false],
    ["load and set", writableSkill, "loadable", true],
    ["search", search, "searchable", false],
    ["search and load", { ...search, ...skill }, "searchable", false]
  ] as const)("%s", (_name, provider, tag, isWritable) => {
    expect(tagOf(kindOf(provider))).toBe(tag);
    expect(kindOf(provider).writable).toBe(isWritable);
  });

  test("the guards tell the kinds apart", () => {
    expect([readonly, writable, writableSkill, search].map(isWritableProvider)).toEqual([false, true, false, false]);
    expect([readonly, writable, writableSkill, search].map(isSkillProvider)).toEqual([false, false, true, false]);
    expect([readonly, writable, writableSkill, search].map(isSearchProvider)).toEqual([false, false, false, true]);
  });

  test("methods of a class count", () => {
    class Store {
      async get() {
        return null;
      }
      async set(_content: string) {}
    }
    expect(isWritableProvider(new Store())).toBe(true);
  });
});

describe("a block in the prompt", () => {
  test.each<[string, ContextConfig, string, string | undefined]>([
    [
      "a read-only text",
      { label: "soul", provider: readonly },
      "Be kind.",
      `${RULE}\nSOUL [readonly]\n${RULE}\nBe kind.`
    ],
    [
      "a writable text with a limit",
      { label: "memory", description: "Learned facts", maxTokens: 10, provider: writable },
      "abcd efgh",
      `${RULE}\nMEMORY (Learned facts) [30% — 3/10 tokens] [writable]\n${RULE}\nabcd efgh`
    ],
    ["an empty writable text", { label: "notes", provider: writable }, "", `${RULE}\nNOTES [writable]\n${RULE}\n`],
    [
      "a list of documents",
      { label: "skills", provider: skill },
      "- a: b",
      `${RULE}\nSKILLS [loadable]\n${RULE}\n- a: b`
    ],
    ["an empty list of documents", { label: "skills", provider: skill }, "", `${RULE}\nSKILLS [loadable]\n${RULE}\n`],
    [
      "a searchable collection",
      { label: "docs", description: "All of them", provider: search },
      "2 entries indexed.",
      `${RULE}\nDOCS (All of them) [searchable]\n${RULE}\n2 entries indexed.`
    ],
    ["an empty read-only text is left out", { label: "soul", provider: readonly }, "", undefined],
    ["a block without a provider is left out", { label: "soul" }, "", undefined]
  ])("%s", (_name, config, content, expected) => {
    expect(renderBlock(blockOf(config, content))).toBe(expected);
  });

  test("blocks are parted by one blank line", () => {
    expect(joinPrompt([{ text: "a" }, { text: "b" }])).toBe("a\n\nb");
    expect(joinPrompt([])).toBe("");
  });
});

describe("a declaration", () => {
  test.each<[string, object]>([
    ["an empty label", { label: "" }],
    ["a label that is too long", { label: "x".repeat(MAX_LABEL_CHARS + 1) }],
    ["a limit of zero", { label: "a", maxTokens: 0 }],
    ["a limit that is no number", { label: "a", maxTokens: Number.NaN }],
    ["a provider without get", { label: "a", provider: {} }]
  ])("with %s is refused", (_name, config) => {
    expect(() => checkConfig(config as ContextConfig)).toThrow(expect.objectContaining({ code: "invalid-block" }));
  });
});

describe("the fingerprint of a set of blocks", () => {
  const declared = (config: ContextConfig, isDeclared = true) => ({ config, isDeclared });
  const base = [declared({ label: "a", provider: writable }), declared({ label: "b", provider: readonly })];

  test.each<[string, { config: ContextConfig; isDeclared: boolean }[]]>([
    ["a block more", [...base, declared({ label: "c" })]],
    ["a block less", base.slice(1)],
    ["another order", base.toReversed()],
    ["another label", [declared({ label: "x", provider: writable }), ...base.slice(1)]],
    ["a description", [declared({ label: "a", description: "d", provider: writable }), ...base.slice(1)]],
    ["a limit", [declared({ label: "a", maxTokens: 5, provider: writable }), ...base.slice(1)]],
    ["another kind", [declared({ label: "a", provider: search }), ...base.slice(1)]],
    ["another who declared it", [declared({ label: "a", provider: writable }, false), ...base.slice(1)]]
  ])("differs by %s", (_name, other) => {
    expect(fingerprintOf(other)).not.toBe(fingerprintOf(base));
  });

  test("is the same for equal declarations, whatever the blocks contain", () => {
    const again = base.map(({ config, isDeclared }) => ({
      isDeclared,
      config: { ...config, provider: { ...config.provider! } }
    }));
    expect(fingerprintOf(again)).toBe(fingerprintOf(base));
  });
});

describe("text behind a text", () => {
  test.each([
    ["", "b", "b"],
    ["a", "b", "a\nb"],
    ["a\n", "b", "a\n\nb"],
    ["a", "\nb", "a\nb"],
    ["a", "\r\nb", "a\r\nb"],
    ["a", "", "a\n"]
  ])("%j and %j", (current, addition, expected) => {
    expect(joinLines(current, addition)).toBe(expected);
  });

  test("nothing of either is ever lost", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (current, addition) => {
        const joined = joinLines(current, addition);
        expect(joined.startsWith(current) && joined.endsWith(addition)).toBe(true);
        expect(joined.length - current.length - addition.length).toBeLessThanOrEqual(1);
      })
    );
  });
});
