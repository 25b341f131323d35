// Keys that work anywhere on the page: "/" and Ctrl or Cmd with K lead to the composer, Escape stops the answer. What
// a field or dialog understands itself does not reach this.
import { useEffect } from "react";

interface PageKeys {
  focusComposer(): void;
  /** True: it did something. */
  escape(): boolean;
}

export function usePageKeys({ focusComposer, escape }: PageKeys): void {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.defaultPrevented) return;
      const isShortcut = event.key.toLowerCase() === "k" && (event.metaKey || event.ctrlKey);
      if (isShortcut || (event.key === "/" && !isTyping(event.target))) {
        event.preventDefault();
        focusComposer();
      } else if (event.key === "Escape" && escape()) event.preventDefault();
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, [focusComposer, escape]);
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(input|textarea|select)$/i.test(target.tagName))
  );
}
