// The chunks of a segment as lines of text, one each, and back, byte for byte. Most chunks are deltas that differ from
// the one before in a few words only: such a line has these words and not the forty bytes around them. A whole line
// begins with a brace, a short one with the quote of its text.

/** Comes before the text of a delta, and before values only: inside of strings quotes are escaped. */
const DELTA = '"delta":';

export function linesOf(chunks: readonly string[]): string {
  let around = "";
  const lines = chunks.map((chunk) => {
    const isAlike = around !== "" && chunk.startsWith(`${around}"`);
    if (isAlike) return chunk.slice(around.length, -1);
    around = aroundOf(chunk);
    return chunk;
  });
  return lines.join("\n");
}

export function chunksIn(text: string): string[] {
  let around = "";
  return text.split("\n").map((line) => {
    if (line.startsWith('"') && around !== "") return `${around}${line}}`;
    around = aroundOf(line);
    return line;
  });
}

/** What comes before the text of a delta, and so of those after it that are alike; "" for other chunks. */
function aroundOf(chunk: string): string {
  const at = chunk.indexOf(DELTA);
  return at < 0 ? "" : chunk.slice(0, at + DELTA.length);
}
