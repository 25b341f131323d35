// A text that grows, as lines of a terminal: those that are done are handed out once, the rest is drawn again with each chunk.
import { readBlocks, type BlockList } from "../../client/parts/markdown/blocks.ts";
import { printable } from "../message-text.ts";
import { blockLines, type MarkdownLook } from "./markdown.ts";
import { wrapSpans } from "./styled-text.ts";

export interface GrownLines {
  /** Have not been handed out before. */
  readonly done: readonly string[];
  /** May still change. */
  readonly open: readonly string[];
}

export interface GrowingText {
  grow(text: string, isGrowing: boolean): GrownLines;
}

/** Blocks of Markdown. A text that was written anew is shown anew, from its first block that differs. */
export class GrowingMarkdown implements GrowingText {
  readonly #look: () => MarkdownLook;
  #list: BlockList | undefined;
  #done = 0;

  constructor(look: () => MarkdownLook) {
    this.#look = look;
  }

  grow(text: string, isGrowing: boolean): GrownLines {
    if (this.#list !== undefined && !text.startsWith(this.#list.settledText)) this.#done = 0;
    this.#list = readBlocks(this.#list, text, isGrowing);
    const { blocks, settled } = this.#list;
    const end = Math.max(this.#done, isGrowing ? settled : blocks.length);
    const look = this.#look();
    const lines = (from: number, to?: number) => blocks.slice(from, to).flatMap(({ token }) => blockLines(token, look));
    const grown = { done: lines(this.#done, end), open: lines(end) };
    this.#done = end;
    return grown;
  }
}

/** As it was written. */
export class GrowingPlainText implements GrowingText {
  readonly #look: () => MarkdownLook;
  #shown = "";

  constructor(look: () => MarkdownLook) {
    this.#look = look;
  }

  grow(text: string, isGrowing: boolean): GrownLines {
    const rest = text.startsWith(this.#shown) ? text.slice(this.#shown.length) : text;
    const end = isGrowing ? rest.lastIndexOf("\n") + 1 : rest.length;
    this.#shown = text.slice(0, text.length - rest.length + end);
    return { done: this.#lines(rest.slice(0, end)), open: this.#lines(rest.slice(end)) };
  }

  #lines(text: string): string[] {
    if (text === "") return [];
    return wrapSpans([{ text: printable(text).replaceAll("\t", "    ").replace(/\n$/, ""), styles: [] }], this.#look());
  }
}
