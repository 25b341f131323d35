// Wrangler's files: JSON with comments and trailing commas. Fails with the line and the column, where the parser alone
// would go on with what it could read.
import { getNodeValue, parseTree, printParseErrorCode, type ParseError } from "jsonc-parser";

export function parseJsonc(text: string): unknown {
  const errors: ParseError[] = [];
  const tree = parseTree(text.replace(/^\uFEFF/, " "), errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first) throw new SyntaxError(`${printParseErrorCode(first.error)} at ${position(text, first.offset)}`);
  // Unlike the library's `parse`, this makes objects in which the key "__proto__" is a key.
  return tree && getNodeValue(tree);
}

function position(text: string, offset: number): string {
  const lines = text.slice(0, offset).split(/\r\n|\n|\r/);
  return `line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`;
}
