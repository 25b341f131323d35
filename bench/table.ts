// Markdown tables that can also be read as plain text. The first column is text, the others are numbers.

export function renderTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((_title, column) =>
    Math.max(...[header, ...rows].map((row) => width(row[column] ?? "")), column === 0 ? 3 : 4)
  );
  const line = (cells: readonly string[]) =>
    `| ${widths.map((size, column) => pad(cells[column] ?? "", size, column)).join(" | ")} |`;
  const rule = widths.map((size, column) => (column === 0 ? "-".repeat(size) : `${"-".repeat(size - 1)}:`));
  return [line(header), `| ${rule.join(" | ")} |`, ...rows.map(line)].join("\n");
}

/** Three significant digits, and whole numbers from a hundred on. */
export function renderNumber(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 100 || Number.isInteger(value)) return Math.round(value).toLocaleString("en-US");
  return value.toFixed(size >= 10 ? 1 : 2);
}

function pad(cell: string, size: number, column: number): string {
  const fill = " ".repeat(size - width(cell));
  return column === 0 ? cell + fill : fill + cell;
}

/** In characters, not in UTF-16 units. */
function width(cell: string): number {
  return [...cell].length;
}
