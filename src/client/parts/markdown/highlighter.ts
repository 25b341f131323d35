// Code to tokens, by the package sugar-high. Its text stays text: nothing of the model's becomes an element by it.
import type { TokenType } from "sugar-high/core";

export interface CodeToken {
  /** Undefined: in the colour of the text. */
  readonly kind: string | undefined;
  readonly text: string;
}

/** The lines of the code as tokens, which together are its text; undefined for a language that is not known. */
export type Highlighter = (code: string, language: string) => readonly (readonly CodeToken[])[] | undefined;

const PLAIN: ReadonlySet<TokenType> = new Set<TokenType>(["identifier", "space", "break"]);

/** The packages are loaded by it: a page without code does not pay for 29 languages. */
export async function loadHighlighter(): Promise<Highlighter> {
  const [{ parse }, { lang, languages }] = await Promise.all([import("sugar-high/core"), import("sugar-high/lang")]);
  return (code, language) => {
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
  };
}
