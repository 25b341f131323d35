// Reading a text piece by piece gives what reading it at once gives, and leaves alone what is done.
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { readBlocks, type BlockList } from "./blocks.ts";

const piece = fc.constantFrom(
  "word ",
  "\n",
  "\n\n",
  "- item\n",
  "  - inner\n",
  "1. first\n",
  "# Title\n",
  "```ts\nconst a = 1;\n```\n",
  "```\n",
  "| a | b |\n| - | - |\n| 1 | 2 |\n",
  "> quote\n",
  "**bold** ",
  "---\n"
);

test("a text read while it grew has the same blocks in the end as one read at once", () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
      let list: BlockList | undefined;
      let text = "";
      for (const next of pieces) {
        text += next;
        list = readBlocks(list, text, true);
      }
      const grown = readBlocks(list, text, false).blocks.map(({ raw }) => raw);
      expect(grown).toEqual(readBlocks(undefined, text, false).blocks.map(({ raw }) => raw));
    }),
    { numRuns: 400 }
  );
});

test("blocks that are done are not read again", () => {
  const text = Array.from({ length: 50 }, (_, index) => `Paragraph ${index}.`).join("\n\n");
  const first = readBlocks(undefined, text, true);
  const second = readBlocks(first, `${text} And more.`, true);
  expect(second.blocks[0]).toBe(first.blocks[0]);
  expect(second.blocks[40]).toBe(first.blocks[40]);
});

test("a text that starts over is read anew", () => {
  const first = readBlocks(undefined, "One.\n\nTwo.\n\nThree.\n\nFour.\n\n", true);
  const again = readBlocks(first, "Else.", true);
  expect(again.blocks.map(({ raw }) => raw)).toEqual(["Else."]);
});
