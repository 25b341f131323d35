import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { matchQuery, MAX_QUERY_TERMS, phraseQuery } from "./search-query.ts";

function openIndex(...texts: string[]) {
  const database = new DatabaseSync(":memory:");
  database.exec("CREATE VIRTUAL TABLE texts USING fts5(content, tokenize = 'porter unicode61')");
  const insert = database.prepare("INSERT INTO texts (content) VALUES (?)");
  for (const text of texts) insert.run(text);
  const select = database.prepare("SELECT content FROM texts WHERE texts MATCH ? ORDER BY rank");
  return (query: string | undefined) =>
    query === undefined ? [] : select.all(query).map((row) => String(row["content"]));
}

describe("a query", () => {
  test.each([
    ["alpha", '"alpha"'],
    ["alpha beta", '("alpha beta") OR ("alpha" AND "beta")'],
    ['say "hello world" now', '("say hello world now") OR ("say" AND "hello world" AND "now")'],
    ["“hello world”", '"hello world"'],
    ['an "open quote', '("an open quote") OR ("an" AND "open" AND "quote")'],
    ["a OR b", '("a OR b") OR ("a" AND "OR" AND "b")'],
    ["content:secret*", '"content:secret*"'],
    ["alpha -- ** ( )", '"alpha"'],
    ["zero\0byte", '("zero byte") OR ("zero" AND "byte")']
  ])("%j becomes %s", (text, expression) => {
    expect(matchQuery(text)).toBe(expression);
  });

  test.each(["", "   ", '""', '"', '"""', "*", "-- ()", "🎉", "\0"])("%j asks for nothing", (text) => {
    expect(matchQuery(text)).toBeUndefined();
    expect(phraseQuery(text)).toBeUndefined();
  });

  test("one word is no phrase", () => {
    expect(phraseQuery("alpha")).toBeUndefined();
    expect(phraseQuery('"alpha beta"')).toBeUndefined();
    expect(phraseQuery("alpha beta")).toBe('"alpha beta"');
  });

  test("no more terms than the limit are looked for", () => {
    const many = Array.from({ length: 500 }, (_, n) => `w${n}`).join(" ");
    expect(matchQuery(many)?.match(/ AND /g)).toHaveLength(MAX_QUERY_TERMS - 1);
  });
});

describe("in FTS5", () => {
  test("words are found apart and in any order, phrases only next to each other", () => {
    const search = openIndex("alpha then beta", "beta alpha", "alpha only");
    expect(search(matchQuery("alpha beta")).sort()).toEqual(["alpha then beta", "beta alpha"]);
    expect(search(matchQuery('"alpha then"'))).toEqual(["alpha then beta"]);
    expect(search(matchQuery('"then alpha"'))).toEqual([]);
  });

  test("the same words as a phrase rank higher", () => {
    const search = openIndex("friday deployment of it", "deployment friday of it", "of it deployment and friday");
    expect(search(matchQuery("deployment friday"))[0]).toBe("deployment friday of it");
  });

  test("operators are words", () => {
    const search = openIndex("cats NOT dogs", "cats", "dogs near cats");
    expect(search(matchQuery("cats NOT dogs"))).toEqual(["cats NOT dogs"]);
    expect(search(matchQuery("NEAR(cats dogs)"))).toEqual(["dogs near cats"]);
    expect(search(matchQuery("content : cats"))).toEqual([]);
  });

  test("whatever is typed is a valid expression", () => {
    const search = openIndex("alpha beta");
    const typed = fc.oneof(
      fc.string({ unit: "binary", maxLength: 30 }),
      fc
        .array(
          fc.constantFrom(
            "alpha",
            '"',
            "'",
            "*",
            "^",
            "(",
            ")",
            "{",
            "}",
            ":",
            "+",
            "-",
            "NEAR",
            "AND",
            "NOT",
            " ",
            "\0"
          )
        )
        .map((pieces) => pieces.join(""))
    );
    fc.assert(
      fc.property(typed, (text) => {
        search(matchQuery(text));
        search(phraseQuery(text));
      })
    );
  });

  test("every word of a text finds the text", () => {
    const word = fc.stringMatching(/^[a-z]{1,8}$/);
    fc.assert(
      fc.property(
        fc.array(word, { minLength: 1, maxLength: 8 }),
        fc.array(word, { minLength: 1 }),
        (wanted, others) => {
          const text = [...wanted, ...others].reverse().join(" ");
          expect(openIndex(text)(matchQuery(wanted.join(" ")))).toEqual([text]);
        }
      ),
      { numRuns: 25 }
    );
  });
});
