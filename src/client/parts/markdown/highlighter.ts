// Code to tokens, by the package sugar-high. Loaded on first use: a page without code does not pay for 29 languages.
import { parse, type TokenType } from "sugar-high/core";
import { lang, languages } from "sugar-high/lang";
import type { CodeToken } from "./use-highlight.ts";

/** What stays in the colour of the text. */
const PLAIN: ReadonlySet<TokenType> = new Set<TokenType>(["identifier", "space", "break"]);

/** The lines of the code as tokens, which together are its text; undefined for a language that is not known. */
export function highlightCode(code: string, language: string): readonly (readonly CodeToken[])[] | undefined {
  const id = lang(language.toLowerCase());
  const known = languages.find((one) => one.id === id);
  if (known === undefined || id === "plaintext") return undefined;
  const lines = parse(code, known.config).lines.map(({ tokens }) => tokens.filter(({ value }) => value !== ""));
  // What is shown and copied is the text of the model, whatever the highlighter makes of it.
  const text = lines.map((tokens) => tokens.map(({ value }) => value).join("")).join("\n");
  if (text !== code) return undefined;
  return lines.map((tokens) =>
    tokens.map(({ type, value }) => ({ kind: PLAIN.has(type) ? undefined : type, text: value }))
  );
}
