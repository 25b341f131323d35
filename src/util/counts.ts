// Whole numbers from zero on: as they come from outside, and in sentences.

export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

/** Reads the parameter of a query. `otherwise` stands for what is missing, empty or no count. */
export function readCount(text: string | null, otherwise: number): number {
  const value = text === null || text === "" ? undefined : Number(text);
  return isCount(value) ? value : otherwise;
}

/** Writes "1 step" and "2 steps". */
export function countText(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
