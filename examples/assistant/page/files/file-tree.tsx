// The tree of files. One row takes part in the order of the Tab key; the arrows lead from row to row.
import { useRef, useState, type KeyboardEvent } from "react";
import { sizeText } from "../amounts.ts";
import { Icon } from "everthink/react";
import { keyMove, type TreeRow } from "./tree-rows.ts";

const INDENT_PX = 16;

interface FileTreeProps {
  rows: readonly TreeRow[];
  selected: string | undefined;
  onSelect(path: string): void;
  onToggle(path: string): void;
}

export function FileTree({ rows, selected, onSelect, onToggle }: FileTreeProps) {
  const list = useRef<HTMLUListElement>(null);
  const [focused, setFocused] = useState<string>();
  const known = rows.findIndex(({ entry }) => entry.path === (focused ?? selected));
  const current = Math.max(0, known);
  const activate = ({ entry }: TreeRow) => {
    if (entry.type === "directory") onToggle(entry.path);
    onSelect(entry.path);
  };
  const onKeyDown = (event: KeyboardEvent, at: number, row: TreeRow) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      return activate(row);
    }
    const move = keyMove(rows, at, event.key);
    if (move === undefined) return;
    event.preventDefault();
    if ("toggle" in move) return onToggle(row.entry.path);
    setFocused(rows[move.focus]?.entry.path);
    list.current?.querySelectorAll<HTMLElement>("[role=treeitem]")[move.focus]?.focus();
  };
  return (
    <ul className="file-tree" role="tree" aria-label="Files of this conversation" ref={list}>
      {rows.map((row, index) => (
        <li
          key={row.entry.path}
          role="treeitem"
          aria-level={row.level}
          aria-selected={row.entry.path === selected}
          aria-label={row.name}
          tabIndex={index === current ? 0 : -1}
          style={{ paddingLeft: 10 + (row.level - 1) * INDENT_PX }}
          {...(row.isOpen !== undefined && { "aria-expanded": row.isOpen })}
          onFocus={() => setFocused(row.entry.path)}
          onClick={() => activate(row)}
          onKeyDown={(event) => onKeyDown(event, index, row)}
        >
          <span className="file-mark">
            <Icon name={row.isOpen === undefined ? "file" : "chevron"} size={16} />
          </span>
          <span className="file-name">{row.name}</span>
          {row.isOpen === undefined && <span className="file-size">{sizeText(row.entry.size)}</span>}
        </li>
      ))}
    </ul>
  );
}
