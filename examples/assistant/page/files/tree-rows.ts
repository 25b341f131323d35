// The files as rows of a tree: directories before files, by name, without what is inside of closed directories. Pure.
import type { FileEntry } from "../../shared/demo.ts";

export interface TreeRow {
  readonly entry: FileEntry;
  readonly name: string;
  /** 1 for what is at the root. */
  readonly level: number;
  /** Only of a directory. */
  readonly isOpen?: boolean;
}

export function treeRows(entries: readonly FileEntry[], closed: ReadonlySet<string>): TreeRow[] {
  const children = new Map<string, FileEntry[]>();
  for (const entry of entries) {
    const parent = parentOf(entry.path);
    children.set(parent, [...(children.get(parent) ?? []), entry]);
  }
  const rows = (directory: string, level: number): TreeRow[] =>
    (children.get(directory) ?? []).toSorted(byKindAndName).flatMap((entry) => {
      const row = { entry, name: nameOf(entry.path), level };
      if (entry.type !== "directory") return [row];
      const isOpen = !closed.has(entry.path);
      return [{ ...row, isOpen }, ...(isOpen ? rows(entry.path, level + 1) : [])];
    });
  return rows("/", 1);
}

function byKindAndName(a: FileEntry, b: FileEntry): number {
  const kind = Number(b.type === "directory") - Number(a.type === "directory");
  return kind === 0 ? nameOf(a.path).localeCompare(nameOf(b.path)) : kind;
}

export function parentOf(path: string): string {
  return path.slice(0, Math.max(1, path.lastIndexOf("/")));
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

export type TreeMove = { readonly focus: number } | { readonly toggle: number };

/** What a key does at a row; undefined for keys that are not the tree's. */
export function keyMove(rows: readonly TreeRow[], at: number, key: string): TreeMove | undefined {
  const row = rows[at];
  if (row === undefined) return undefined;
  switch (key) {
    case "ArrowDown":
      return { focus: Math.min(rows.length - 1, at + 1) };
    case "ArrowUp":
      return { focus: Math.max(0, at - 1) };
    case "Home":
      return { focus: 0 };
    case "End":
      return { focus: rows.length - 1 };
    case "ArrowRight":
      if (row.isOpen === false) return { toggle: at };
      return { focus: (rows[at + 1]?.level ?? 0) > row.level ? at + 1 : at };
    case "ArrowLeft":
      if (row.isOpen === true) return { toggle: at };
      return {
        focus: Math.max(
          0,
          rows.slice(0, at).findLastIndex(({ level }) => level < row.level)
        )
      };
    default:
      return undefined;
  }
}
