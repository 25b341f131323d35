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

/** Yes or no, remembered. The default holds until the user decides. */
export function useStoredFlag(name: string, byDefault: boolean): [boolean, (value: boolean) => void] {
  const [value, setValue] = useState(() => {
    const stored = readSetting(name);
    return stored === undefined ? byDefault : stored === "yes";
  });
  const change = (next: boolean) => {
    setValue(next);
    writeSetting(name, next ? "yes" : "no");
  };
  return [value, change];
}
