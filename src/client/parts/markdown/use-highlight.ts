// The colours of code. The highlighter is loaded with the first block of a language it knows; until then, and for all other
// code, the text is shown as it is. Its tokens are text: nothing of the model's becomes an element by it.
import { useEffect, useMemo, useState } from "react";

export interface CodeToken {
  readonly kind: string | undefined;
  readonly text: string;
}

/** Longer code is shown without colours: it is read again with each word that is added to it. */
export const HIGHLIGHTED_CHARACTERS = 20_000;

type Highlighter = (code: string, language: string) => readonly (readonly CodeToken[])[] | undefined;

let loading: Promise<Highlighter | undefined> | undefined;
let loaded: Highlighter | undefined;

/** The lines of the code, each as its tokens; undefined: no colours. */
export function useHighlight(code: string, language: string | undefined) {
  const [highlight, setHighlight] = useState(() => loaded);
  const isWanted = language !== undefined && language !== "" && code.length <= HIGHLIGHTED_CHARACTERS;
  useEffect(() => {
    if (!isWanted || highlight !== undefined) return;
    let isGone = false;
    void loadHighlighter().then((found) => {
      // A function in a state would be called.
      if (!isGone) setHighlight(() => found);
    });
    return () => {
      isGone = true;
    };
  }, [isWanted, highlight]);
  return useMemo(
    () => (isWanted && highlight !== undefined ? highlight(code, language) : undefined),
    [isWanted, highlight, code, language]
  );
}

/** Undefined where it cannot be loaded, as in a page that went offline. */
export function loadHighlighter(): Promise<Highlighter | undefined> {
  loading ??= import("./highlighter.ts").then(
    ({ highlightCode }) => (loaded = highlightCode),
    () => (loading = undefined)
  );
  return loading;
}
