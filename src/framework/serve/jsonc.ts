// JSON with comments and trailing commas, as people write wrangler.jsonc. Comments become spaces, so that a parser's
// positions still fit the file.

export function parseJsonc(text: string): unknown {
  return JSON.parse(withoutTrailingCommas(withoutComments(text.replace(/^\uFEFF/, ""))));
}

/** A string first, so that nothing inside of one is taken for a comment. */
const STRING_OR_COMMENT = /"(?:\\.|[^"\\])*"|\/\/[^\n\r]*|\/\*[\s\S]*?\*\//g;
const STRING_OR_TRAILING_COMMA = /"(?:\\.|[^"\\])*"|,(?=\s*[\]}])/g;

function withoutComments(text: string): string {
  return text.replace(STRING_OR_COMMENT, (match) => (match.startsWith('"') ? match : match.replace(/[^\n\r]/g, " ")));
}

function withoutTrailingCommas(text: string): string {
  return text.replace(STRING_OR_TRAILING_COMMA, (match) => (match === "," ? " " : match));
}
