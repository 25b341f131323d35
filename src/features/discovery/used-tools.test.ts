import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { activeTools, foldUses, noteFor, NO_TOOLS, SEARCH_TOOLS, usesIn, type UsedTools } from "./used-tools.ts";

interface Part {
  type: string;
  [field: string]: unknown;
}
interface Message {
  id: string;
  parts: Part[];
}

const called = (name: string): Part => ({
  type: `tool-${name}`,
  toolCallId: name,
  state: "output-available",
  output: 1
});
const searched = (...names: string[]): Part => ({
  type: `tool-${SEARCH_TOOLS}`,
  toolCallId: "s",
  state: "output-available",
  output: { tools: names.map((name) => ({ name })) }
});
const message = (...parts: Part[]): Message => ({ id: "m", parts });
const summary = (text: string): Message => ({ id: "compaction_1", parts: [{ type: "text", text }] });
const fold = (messages: Message[]) => foldUses(NO_TOOLS, usesIn(messages));
const all = { isDeferred: () => true, maxActive: 100 };

/** A history in which a summary stands for the messages from one to another. */
function compacted(history: Message[], from: number, to: number): Message[] {
  const note = noteFor(history.slice(0, to), history);
  const text = note === undefined ? "They talked." : `They talked.\n\n${note}`;
  return [...history.slice(0, from), summary(text), ...history.slice(to)];
}
const summarized = (messages: Message[]) => compacted(messages, 0, messages.length);
const search = message(searched("z"));

const names = fc.constantFrom("a", "b", "c", "d", "e", "f", `odd "name",\n]}`);
const part = fc.oneof(
  names.map(called),
  fc.array(names, { maxLength: 4 }).map((found) => searched(...found)),
  fc.constant<Part>({ type: "text", text: "Tools found so far: nothing" })
);
const messages = fc.array(
  fc.array(part, { maxLength: 4 }).map((parts) => message(...parts)),
  { maxLength: 8 }
);

describe("what was found", () => {
  test("is in the order in which it was found or first called, once", () => {
    const used = fold([message(searched("b", "a")), message(called("c"), searched("a", "d"))]);
    expect(used.names).toEqual(["b", "a", "c", "d"]);
    expect(used.byLastUse).toEqual(["b", "c", "a", "d"]);
  });

  test("by a search that failed or runs is nothing", () => {
    const running: Part = { type: `tool-${SEARCH_TOOLS}`, toolCallId: "s", state: "input-available", input: {} };
    expect(fold([message(running)])).toEqual(NO_TOOLS);
  });

  test.each([null, "text", { tools: "x" }, { tools: [null, 1, {}, { name: 5 }] }])("in %j is nothing", (output) => {
    expect(fold([message({ ...searched(), output })])).toEqual(NO_TOOLS);
  });

  test("of a search with another name counts too", () => {
    expect(fold([message({ ...searched("a"), type: "tool-search_tools_1" })]).names).toEqual(["a"]);
    expect(fold([message({ ...searched("a"), type: "tool-search_toolsheds" })]).names).toEqual(["search_toolsheds"]);
  });

  test("follows from the messages read so far, wherever reading is interrupted", () => {
    fc.assert(
      fc.property(messages, fc.nat(8), (read, at) => {
        const half = foldUses(NO_TOOLS, usesIn(read.slice(0, at)));
        expect(foldUses(half, usesIn(read.slice(at)))).toEqual(fold(read));
      })
    );
  });
});

describe("what is offered", () => {
  test("are the tools that were used last, in the order in which they were found", () => {
    const used = fold([message(searched("a", "b", "c")), message(called("a"))]);
    expect(activeTools(used, { ...all, maxActive: 2 })).toEqual(["a", "c"]);
  });

  test("are deferred tools only: others take no place", () => {
    const used = fold([message(searched("a", "b")), message(called("read"), called("write"))]);
    expect(activeTools(used, { isDeferred: (name) => name.length === 1, maxActive: 2 })).toEqual(["a", "b"]);
  });

  test("is never more than the limit, has what was used last, and keeps its order when nothing leaves", () => {
    fc.assert(
      fc.property(messages, part, fc.integer({ min: 1, max: 7 }), (read, next, maxActive) => {
        const before = activeTools(fold(read), { ...all, maxActive });
        const used = fold([...read, message(next)]);
        const after = activeTools(used, { ...all, maxActive });
        expect(after.length).toBe(Math.min(maxActive, used.names.length));
        if (used.names.length > 0) expect(after).toContain(used.byLastUse.at(-1));
        if (used.names.length <= maxActive) expect(after.slice(0, before.length)).toEqual(before);
      })
    );
  });
});

describe("a summary", () => {
  test("of any part of a conversation keeps what it found: the fold comes to the same", () => {
    fc.assert(
      fc.property(messages, fc.nat(8), fc.nat(8), fc.nat(8), (read, at, from, length) => {
        const history = read.toSpliced(at, 0, search);
        expect(fold(compacted(history, from, from + length))).toEqual(fold(history));
      })
    );
  });

  test("of a summary keeps it as well", () => {
    fc.assert(
      fc.property(messages, fc.nat(8), fc.nat(8), (read, at, to) => {
        const history = read.toSpliced(at, 0, search);
        expect(fold(summarized(compacted(history, 0, to)))).toEqual(fold(history));
      })
    );
  });

  test("of a conversation without a search says nothing about tools", () => {
    const plain = [message(called("read"), { type: "text", text: "Hi" })];
    expect(noteFor(plain, plain)).toBeUndefined();
    expect(noteFor([message(searched())], [message(searched())])).toBeUndefined();
  });

  test("keeps the 256 names that were used last", () => {
    const many = Array.from({ length: 300 }, (_, index) => `t${index}`);
    const kept = fold(summarized([message(searched(...many))]));
    expect(kept.names).toEqual(many.slice(-256));
  });

  test("into which a model has copied the line of an earlier one is read by its last line", () => {
    const noteOf = (messages: Message[]) => noteFor(messages, messages);
    const [old, now] = [noteOf([message(searched("old"))]), noteOf([message(searched("new"))])];
    expect(fold([summary(`${old}\nMore was said.\n\n${now}`)]).names).toEqual(["new"]);
  });

  test.each<[string, UsedTools]>([
    ['Tools found so far: {"names":["a"],"lastUsed":[7,-1,"x"]}', { names: ["a"], byLastUse: ["a"] }],
    ['Tools found so far: {"names":["a",1],"lastUsed":[]}', NO_TOOLS],
    ['Tools found so far: {"names":', NO_TOOLS],
    ["Tools found so far: []", NO_TOOLS],
    ["tools found so far: none", NO_TOOLS]
  ])("with %s is read as far as it makes sense", (text, expected) => {
    expect(fold([summary(text)])).toEqual(expected);
  });

  test("counts only as one: a message with such a line is text", () => {
    const note = noteFor([message(searched("a"))], [message(searched("a"))]);
    expect(fold([message({ type: "text", text: note })])).toEqual(NO_TOOLS);
  });
});
