// The blocks of a text that grows. A text that continues an earlier one is read again only from its last blocks on, so
// the cost of a chunk does not grow with the answer, and blocks that are done keep their exact text. Pure.
import { lexer, type MarkedToken, type Token } from "marked";
import { repairEnd } from "./repair.ts";

export interface Block {
  /** Exactly what was written: two blocks with the same text look the same. */
  readonly raw: string;
  readonly token: MarkedToken;
}

export interface BlockList {
  readonly blocks: readonly Block[];
  /** So many of them can no longer change while the text grows, and this is their text. */
  readonly settled: number;
  readonly settledText: string;
}

/** A list takes in what follows it, a paragraph the next line; spaces between blocks count. The end stays open. */
const OPEN_TOKENS = 4;

export function readBlocks(previous: BlockList | undefined, text: string, isGrowing: boolean): BlockList {
  const isContinued = previous !== undefined && text.startsWith(previous.settledText);
  const done = isContinued ? previous.blocks.slice(0, previous.settled) : [];
  const doneText = isContinued ? previous.settledText : "";
  const open = text.slice(doneText.length);
  const read = blocksOf(isGrowing ? repairEnd(open) : open);
  const blocks = [...done, ...read];
  const settledNow = read.slice(0, -OPEN_TOKENS);
  const settledText = doneText + settledNow.map(({ raw }) => raw).join("");
  // The lexer rewrites some rare characters; then nothing of this reading is kept.
  if (!text.startsWith(settledText)) return { blocks, settled: done.length, settledText: doneText };
  return { blocks, settled: done.length + settledNow.length, settledText };
}

function blocksOf(text: string): Block[] {
  return lexer(text, { gfm: true })
    .filter(isOwnToken)
    .map((token) => ({ raw: token.raw, token }));
}

/** Without extensions the lexer makes only tokens of its own; the type cannot say so. */
export function isOwnToken(_token: Token): _token is MarkedToken {
  return true;
}
