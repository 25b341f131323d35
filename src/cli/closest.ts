// What a user probably meant by a word that is not there. Pure.

/** More typing errors than this make another word; in short words, one more does. */
const MOST_EDITS = 2;
const SHORT_WORD = 5;

/** The nearest of some words; undefined when none is near. */
export function closest(word: string, words: readonly string[]): string | undefined {
  const near = words
    .map((one) => ({ one, edits: one.startsWith(word) && word.length > 1 ? 0 : editsBetween(word, one) }))
    .filter(({ one, edits }) => edits <= (one.length > SHORT_WORD ? MOST_EDITS : MOST_EDITS - 1))
    .toSorted((a, b) => a.edits - b.edits);
  return near[0]?.one;
}

/** Letters to add, remove, replace or swap with their neighbour. */
function editsBetween(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let row = 1; row <= from.length; row += 1) {
    const now = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const isSame = from[row - 1] === to[column - 1];
      const isSwapped = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      now.push(
        Math.min(
          (last[column] ?? 0) + 1,
          (now[column - 1] ?? 0) + 1,
          (last[column - 1] ?? 0) + (isSame ? 0 : 1),
          isSwapped ? (beforeLast[column - 2] ?? 0) + 1 : Infinity
        )
      );
    }
    [beforeLast, last] = [last, now];
  }
  return last[to.length] ?? 0;
}
