// The colours of code. The highlighter is loaded with the first block that names a language; until then, and for all other
// code, the text is shown as it is.
import { useEffect, useMemo, useState } from "react";
import { loadHighlighter, type CodeToken, type Highlighter } from "./highlighter.ts";

/** Longer code is shown without colours: it is read again with each word that is added to it. */
const HIGHLIGHTED_CHARACTERS = 20_000;

let loading: Promise<Highlighter | undefined> | undefined;
let loaded: Highlighter | undefined;

/** The lines of the code, each as its tokens; undefined: no colours. */
export function useHighlight(
  code: string,
  language: string | undefined
): readonly (readonly CodeToken[])[] | undefined {
  const [highlight, setHighlight] = useState(() => loaded);
  const isWanted = language !== undefined && language !== "" && code.length <= HIGHLIGHTED_CHARACTERS;
  useEffect(() => {
    if (!isWanted || highlight !== undefined) return;
    let isGone = false;
    void loadOnce().then((found) => {
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

/** Undefined where it cannot be loaded, as in a page that went offline; the next block tries again. */
function loadOnce(): Promise<Highlighter | undefined> {
  loading ??= loadHighlighter().then(
    (found) => (loaded = found),
    () => (loading = undefined)
  );
  return loading;
}
