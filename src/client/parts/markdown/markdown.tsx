// A text of the model, also while it is being written. Only blocks whose text changed are rendered again: in a long
// answer that is the last one.
import { memo, useEffect, useMemo, useRef } from "react";
import { BlockElement } from "./block.tsx";
import { readBlocks, type Block, type BlockList } from "./blocks.ts";

export interface MarkdownProps {
  readonly text: string;
  /** It is being written: an end that means nothing yet is completed or hidden. */
  readonly isGrowing?: boolean;
}

/**
 * Text of a model. HTML in it is shown as the characters it is, links lead to http, https and mailto only, and pictures are
 * links: one that loads by itself would tell its server who reads along.
 *
 * @example
 * <Markdown text="It is **done**." />
 */
export function Markdown({ text, isGrowing = false }: MarkdownProps) {
  const previous = useRef<BlockList>(undefined);
  const list = useMemo(() => readBlocks(previous.current, text.replace(/\r\n?/g, "\n"), isGrowing), [text, isGrowing]);
  useEffect(() => {
    previous.current = list;
  }, [list]);
  return (
    <div className="think-part think-markdown" data-growing={isGrowing || undefined}>
      {list.blocks.map((block, index) => (
        <MemoBlock key={index} block={block} />
      ))}
    </div>
  );
}

const MemoBlock = memo(
  ({ block }: { block: Block }) => <BlockElement token={block.token} />,
  (before, after) => before.block.raw === after.block.raw && before.block.token.type === after.block.token.type
);
