/**
 * Cuts a text into `count` pieces of about equal length. Never cuts a character in two: half a surrogate pair does
 * not survive being stored or sent. Fewer pieces come back if the text is too short.
 */
export function splitText(text: string, count: number): string[] {
  const characters = Array.from(text);
  const pieces = Math.max(1, Math.min(count, characters.length));
  return Array.from({ length: pieces }, (_unused, index) =>
    characters
      .slice(Math.floor((index * characters.length) / pieces), Math.floor(((index + 1) * characters.length) / pieces))
      .join("")
  );
}
