// Whether the panel is open, which this browser remembers, and where the keyboard is. Where the panel is a sheet
// below the conversation, a person who opens it is led into it, and back to the button that opens it when they close it.
import { useEffect, useRef, type RefObject } from "react";
import { useSetting } from "everthink/react";

/** With less room than this the panel would leave too little for the conversation, so it is not open by itself. */
const ROOM_FOR_PANEL = "(min-width: 1180px)";

export const SHOW_PANEL = "Show what happens underneath";
export const HIDE_PANEL = "Hide what happens underneath";

export interface PanelSwitch {
  readonly isOpen: boolean;
  readonly headingRef: RefObject<HTMLHeadingElement | null>;
  readonly toggleRef: RefObject<HTMLButtonElement | null>;
  toggle(): void;
  /** From inside the panel. */
  hide(): void;
}

export function usePanel(): PanelSwitch {
  const [stored, store] = useSetting("panel-open");
  const isOpen = stored === undefined ? hasRoom() : stored === "yes";
  const headingRef = useRef<HTMLHeadingElement>(null);
  const toggleRef = useRef<HTMLButtonElement>(null);
  // Only what a person does leads them: another conversation shows its own panel, and that is no reason to go there.
  const isAsked = useRef(false);
  useEffect(() => {
    if (!isAsked.current) return;
    isAsked.current = false;
    if (!isOpen) toggleRef.current?.focus();
    else if (!hasRoom()) headingRef.current?.focus();
  }, [isOpen]);
  const change = (next: boolean) => {
    isAsked.current = true;
    store(next ? "yes" : "no");
  };
  return { isOpen, headingRef, toggleRef, toggle: () => change(!isOpen), hide: () => change(false) };
}

/** Then it is a column of its own. */
export function hasRoom(): boolean {
  return matchMedia(ROOM_FOR_PANEL).matches;
}
