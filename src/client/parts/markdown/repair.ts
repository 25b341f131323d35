// Markdown that is still being written. The last line may be the beginning of something that means nothing yet, or
// worse, something else: a lone "-" under a line is a heading to a parser and the start of a list to the writer. This
// completes or hides such ends, so that what is shown changes only by growing. Pure.

/** A line that says nothing without what follows it: marks of lists, quotes, headings, fences and rules. */
const BARE_MARK = /(^|\n)[ \t]*(?:[-*+=_]{1,2}|\d{1,3}[.)]?|#{1,6}|>|`{1,2}|~{1,2})[ \t]*$/;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;

/** The text as it will most likely go on, for showing it now. */
export function repairEnd(text: string): string {
  if (isInsideFence(text)) return text;
  const trimmed = text.replace(BARE_MARK, "$1");
  const start = lastBlockStart(trimmed);
  return trimmed.slice(0, start) + repairBlock(trimmed.slice(start));
}

function isInsideFence(text: string): boolean {
  let open: string | undefined;
  for (const line of text.split("\n")) {
    const mark = FENCE.exec(line)?.[1];
    if (mark === undefined) continue;
    if (open === undefined) open = mark;
    else if (mark.startsWith(open) && line.trim() === mark) open = undefined;
  }
  return open !== undefined;
}

function lastBlockStart(text: string): number {
  return [...text.matchAll(/\n[ \t]*\n/g)].at(-1)?.index ?? 0;
}

function repairBlock(block: string): string {
  return asTable(block) ?? closeInline(block);
}

/** The line below the first row of a table. */
const DELIMITER_ROW = /^\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;

/** The first row of a table is a paragraph full of bars until its second line is there. */
function asTable(block: string): string | undefined {
  const [first, second, ...rest] = block.trim().split("\n");
  if (first === undefined || !first.startsWith("|") || rest.length > 0) return undefined;
  if (second !== undefined) {
    const isComplete = DELIMITER_ROW.test(second) && columns(second) >= columns(first);
    if (isComplete || /[^|:\- \t]/.test(second)) return undefined;
  }
  if (first === "|") return "";
  const row = first.trimEnd().endsWith("|") ? first : `${first} |`;
  const lead = block.slice(0, block.length - block.trimStart().length);
  return `${lead}${row}\n|${" --- |".repeat(columns(row))}`;
}

function columns(row: string): number {
  return row
    .trim()
    .replace(/^\||\|$/g, "")
    .split("|").length;
}

function closeInline(block: string): string {
  if (countOf(block, /`/g) % 2 === 1) return block.endsWith("`") ? block.slice(0, -1) : `${block}\``;
  const line = block.lastIndexOf("\n") + 1;
  let text = block.slice(line);
  text = text.replace(/!?\[([^\]]*)$/, "$1").replace(/!?\[([^\]]*)\]\([^)]*$/, "$1");
  // Two stars may become strong, one may become emphasis: what is open is closed, what has no content yet is hidden.
  text = text.replace(/(^|\s)(\*{1,3}|_{1,3}|~~)$/, "$1");
  for (const mark of ["**", "__", "~~"]) text = closeMark(text, mark);
  text = closeSingle(text, "*");
  return block.slice(0, line) + text;
}

function closeMark(text: string, mark: string): string {
  if (text.split(mark).length % 2 === 1) return text;
  // Half of the closing mark is already there.
  const half = mark.charAt(0);
  const isHalfClosed = text.endsWith(half) && !text.endsWith(mark);
  return isHalfClosed ? text + half : `${text.trimEnd()}${mark}`;
}

function closeSingle(text: string, mark: string): string {
  const withoutPairs = text.replaceAll(mark + mark, "  ");
  const opened = countOf(withoutPairs, /(?:^|[\s(])\*(?=[^\s*])/g);
  const closed = countOf(withoutPairs, /[^\s*]\*(?=$|[\s).,;:!?])/g);
  return opened > closed ? `${text.trimEnd()}${mark}` : text;
}

function countOf(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}
