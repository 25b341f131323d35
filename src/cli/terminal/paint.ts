// Styles as a terminal has them.
import { styleText } from "node:util";
import type { Paint } from "./styled-text.ts";

export function paintFor(hasColors: boolean): Paint {
  if (!hasColors) return (_styles, text) => text;
  return (styles, text) =>
    styleText(typeof styles === "string" ? styles : [...styles], text, { validateStream: false });
}
