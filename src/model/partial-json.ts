// The value of a JSON text that is not finished yet, as far as it is certain: open strings, lists and objects are
// closed where the text ends, a trailing key without value or an unfinished literal is left out. Pure.
import { parseJson } from "../util/json.ts";

/** Undefined when nothing can be said, or when the text cannot become JSON. */
export function parsePartialJson(text: string): unknown {
  const whole = parseJson(text);
  if (whole.ok) return whole.value;
  const completed = complete(text);
  if (completed === undefined) return undefined;
  const parsed = parseJson(completed);
  return parsed.ok ? parsed.value : undefined;
}

/** What the scanner expects next inside a container; where it may stop without losing certainty. */
interface Container {
  readonly close: "}" | "]";
  /** Length of the text up to the last complete element, or just after the opening bracket. */
  safeEnd: number;
}

function complete(text: string): string | undefined {
  const containers: Container[] = [];
  let position = 0;
  let expectsKey = false;
  const elementEnds = () => {
    const inner = containers.at(-1);
    if (inner !== undefined) inner.safeEnd = position;
  };
  while (position < text.length) {
    const character = text[position] ?? "";
    if (character === "{" || character === "[") {
      position += 1;
      containers.push({ close: character === "{" ? "}" : "]", safeEnd: position });
      expectsKey = character === "{";
    } else if (character === "}" || character === "]") {
      position += 1;
      containers.pop();
      elementEnds();
      expectsKey = false;
    } else if (character === '"') {
      const end = stringEnd(text, position);
      if (end === undefined) return expectsKey ? cut(text, containers) : closeString(text, position, containers);
      position = end;
      if (!expectsKey) elementEnds();
    } else if (character === ",") {
      position += 1;
      expectsKey = containers.at(-1)?.close === "}";
    } else if (character === ":" || character <= " ") {
      position += 1;
      if (character === ":") expectsKey = false;
    } else {
      const end = scalarEnd(text, position);
      if (end === text.length) return closeScalar(text, position, containers);
      position = end;
      elementEnds();
    }
  }
  return cut(text, containers);
}

/** After the closing quote, or undefined if the string is still open. */
function stringEnd(text: string, start: number): number | undefined {
  for (let position = start + 1; position < text.length; position += 1) {
    if (text[position] === "\\") position += 1;
    else if (text[position] === '"') return position + 1;
  }
  return undefined;
}

function closeString(text: string, start: number, containers: readonly Container[]): string {
  // An escape that is not complete yet says nothing: `\`, or `\u` with fewer than four digits.
  const body = text.slice(start).replace(/(^|[^\\])((?:\\\\)*)\\(?:u[0-9a-fA-F]{0,3})?$/, "$1$2");
  return `${text.slice(0, start)}${body}"${closing(containers)}`;
}

function scalarEnd(text: string, start: number): number {
  let position = start;
  while (position < text.length && !/[\s,\]}]/.test(text[position] ?? "")) position += 1;
  return position;
}

const LITERALS = ["true", "false", "null"] as const;

function closeScalar(text: string, start: number, containers: readonly Container[]): string {
  const scalar = text.slice(start);
  const literal = LITERALS.find((word) => word.startsWith(scalar));
  if (literal !== undefined) return `${text.slice(0, start)}${literal}${closing(containers)}`;
  // "1.", "1e" and "-" are on their way to a number. A positive exponent waits too, as it does in the SDK's clients.
  const number = /^-?\d+(?:\.\d+)?(?:[eE]-?\d+)?/.exec(scalar)?.[0];
  if (number === undefined) return cut(text, containers);
  return `${text.slice(0, start)}${number}${closing(containers)}`;
}

function cut(text: string, containers: readonly Container[]): string {
  const inner = containers.at(-1);
  return inner === undefined ? text : `${text.slice(0, inner.safeEnd)}${closing(containers)}`;
}

function closing(containers: readonly Container[]): string {
  return containers
    .map((container) => container.close)
    .reverse()
    .join("");
}
