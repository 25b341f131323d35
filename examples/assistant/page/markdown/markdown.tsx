// A text of the model, also while it is being written. Only blocks whose text changed are rendered again: in a long
// answer that is the last one.
import { memo, useEffect, useMemo, useRef } from "react";
import { BlockElement } from "./block.tsx";
import { readBlocks, type Block, type BlockList } from "./blocks.ts";

export function Markdown({ text, isGrowing }: { text: string; isGrowing: boolean }) {
  const previous = useRef<BlockList>(undefined);
  const list = useMemo(() => readBlocks(previous.current, text.replace(/\r\n?/g, "\n"), isGrowing), [text, isGrowing]);
  useEffect(() => {
    previous.current = list;
  }, [list]);
  return (
    <div className="markdown" data-growing={isGrowing || undefined}>
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
