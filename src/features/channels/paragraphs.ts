// The text of an answer as a chat shows it: parts before and after a tool call are paragraphs of their own.

/** Adds a part to a text, with an empty line between the two unless one of them has white space there. */
export function appendPart(text: string, part: string): string {
  const needsBreak = text !== "" && part !== "" && !/\s$/.test(text) && !/^\s/.test(part);
  return needsBreak ? `${text}\n\n${part}` : text + part;
}
