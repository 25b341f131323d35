import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isTypingError, ToolIndex, type IndexedTool } from "./tool-index.ts";
import { wordsOf } from "./words.ts";

const indexed = (name: string, changes: Partial<IndexedTool> = {}): IndexedTool => ({
  name,
  description: "",
  group: "",
  parameters: [],
  ...changes
});
const found = (tools: IndexedTool[], query: string, limit = 10) => new ToolIndex(tools).search(query, limit);

describe("words", () => {
  test.each([
    ["createPullRequest", ["creat", "pull", "request"]],
    ["list-HTTPRoutes", ["list", "http", "rout"]],
    ["the issues of an issue", ["issu", "issu"]],
    ["translating translation translates", ["translat", "translat", "translat"]],
    ["booked stopped bookings", ["book", "stop", "book"]],
    ["status address bus", ["status", "address", "bus"]],
    ["Größe überprüfen", ["größe", "überprüfen"]],
    ["s3 v2Api", ["s3", "v2", "api"]],
    ["", []]
  ])("of %j are %j", (text, words) => {
    expect(wordsOf(text)).toEqual(words);
  });

  test("are the same for a text in another case, and never empty", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        for (const word of wordsOf(text)) expect(word).not.toBe("");
      })
    );
  });
});

describe("the index", () => {
  test("finds by name, title, description, group and parameters", () => {
    const tools = [
      indexed("deploy_now"),
      indexed("a", { title: "Weather" }),
      indexed("b", { description: "Bakes bread." }),
      indexed("c", { group: "Linear" }),
      indexed("d", { parameters: [{ name: "timezone", description: "Such as Europe/Berlin" }] })
    ];
    expect(["deploy", "weather", "bread", "linear", "timezone", "berlin"].map((query) => found(tools, query))).toEqual([
      ["deploy_now"],
      ["a"],
      ["b"],
      ["c"],
      ["d"],
      ["d"]
    ]);
  });

  test("ranks a name above a description, and a rare word above a frequent one", () => {
    const tools = [
      indexed("list_files", { description: "Files and folders." }),
      indexed("read", { description: "Reads a file." }),
      indexed("list_users"),
      indexed("list_groups")
    ];
    expect(found(tools, "file")[0]).toBe("list_files");
    expect(found(tools, "list the users")[0]).toBe("list_users");
  });

  test("knows words that mean the same, and ranks the word itself first", () => {
    const tools = [indexed("remove_user"), indexed("delete_user"), indexed("rename_user")];
    expect(found(tools, "delete", 2)).toEqual(["delete_user", "remove_user"]);
    expect(found(tools, "erase", 2).sort()).toEqual(["delete_user", "remove_user"]);
  });

  test("forgives a typing error and an unfinished word", () => {
    const tools = [indexed("create_calendar"), indexed("create_contact")];
    expect(found(tools, "calender")).toEqual(["create_calendar"]);
    expect(found(tools, "calend")).toEqual(["create_calendar"]);
  });

  test.each([
    ["abcde", "abcde", false],
    ["abcde", "abde", true],
    ["abde", "abcde", true],
    ["abcde", "abxde", true],
    ["abcde", "abdce", true],
    ["abcde", "abxye", false],
    ["abcde", "abc", false]
  ])("takes %s for %s written wrongly: %s", (one, other, expected) => {
    expect(isTypingError(one, other)).toBe(expected);
  });

  test("finds nothing for nothing, for words that say nothing, and among no tools", () => {
    expect(found([indexed("a")], "")).toEqual([]);
    expect(found([indexed("the")], "the of and")).toEqual([]);
    expect(found([], "anything")).toEqual([]);
  });

  test("gives each tool at most once, no more than asked for, and the same for the same question", () => {
    const word = fc.constantFrom("list", "issue", "user", "file", "send", "mail", "calendar", "x");
    const texts = fc.array(word, { maxLength: 5 }).map((words) => words.join(" "));
    const toolsOf = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 12 }), { maxLength: 12 });
    fc.assert(
      fc.property(toolsOf, texts, texts, fc.nat(6), (names, description, query, limit) => {
        const tools = names.map((name) => indexed(name, { description }));
        const first = found(tools, query, limit);
        expect(first.length).toBeLessThanOrEqual(limit);
        expect(new Set(first).size).toBe(first.length);
        for (const name of first) expect(names).toContain(name);
        expect(found(tools, query, limit)).toEqual(first);
      })
    );
  });

  test("finds each tool by its own name, however many there are", () => {
    const names = Array.from({ length: 300 }, (_, index) => `do_${String.fromCharCode(97 + (index % 26))}zq${index}`);
    const index = new ToolIndex(names.map((name) => indexed(name)));
    for (const name of names) expect(index.search(name, 1)).toEqual([name]);
  });
});
