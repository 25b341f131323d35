// A small setting that this browser remembers. A browser that forbids storage forgets it, and nothing else breaks.
import { useState } from "react";

export function readSetting(name: string): string | undefined {
  try {
    return localStorage.getItem(name) ?? undefined;
  } catch {
    // Storage is forbidden here: the default holds.
    return undefined;
  }
}

export function writeSetting(name: string, value: string): void {
  try {
    localStorage.setItem(name, value);
  } catch {
    // Storage is forbidden or full: the setting holds until the page is left.
  }
}

/**
 * A setting of the page that this browser remembers; undefined until one was made.
 *
 * @example
 * const [view, setView] = useSetting("panel-view");
 */
export function useSetting(name: string): [string | undefined, (value: string) => void] {
  const [value, setValue] = useState(() => readSetting(name));
  const change = (next: string) => {
    setValue(next);
    writeSetting(name, next);
  };
  return [value, change];
}
