// The memory block, read out of the system prompt. Pure.

/** A block is its heading between two rules, then its text up to the next rule or to the list of capabilities. */
const MEMORY_BLOCK = /═\nMEMORY\b[^\n]*\n═+\n([\s\S]*?)(?=\n*═{10,}|\n*<!--|$)/;

/** Its lines, each once. */
export function memoryIn(system: string): string[] {
  const text = MEMORY_BLOCK.exec(system)?.[1] ?? "";
  const lines = text.split("\n").map((line) => line.trim());
  return [...new Set(lines.filter((line) => line !== ""))];
}
