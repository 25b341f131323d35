// Light or dark. Without a choice the page follows the system, in CSS alone; a choice is an attribute on the root
// element and is remembered. Every component that asks sees the theme that is really shown.
import { useSyncExternalStore } from "react";
import { readSetting, writeSetting } from "./stored-setting.ts";

export type Theme = "light" | "dark";

const SETTING = "theme";
const listeners = new Set<() => void>();

/**
 * Shows the theme that a person chose before. Call it before the first render, so that nothing is painted in the other one.
 *
 * @example
 * applyStoredTheme();
 * createRoot(root).render(<Chat agent="assistant" name="ada" />);
 */
export function applyStoredTheme(): void {
  const stored = readSetting(SETTING);
  if (stored === "light" || stored === "dark") document.documentElement.dataset["theme"] = stored;
}

/**
 * The theme that is shown: what a person chose, or the system's.
 *
 * @example
 * const map = shownTheme() === "dark" ? "night" : "day";
 */
export function shownTheme(): Theme {
  const chosen = document.documentElement.dataset["theme"];
  if (chosen === "light" || chosen === "dark") return chosen;
  return systemTheme().matches ? "dark" : "light";
}

export function chooseTheme(theme: Theme): void {
  const root = document.documentElement;
  // Controls fade between colours by themselves; here all of them change at once, in one frame.
  root.classList.add("think-theme-changes");
  root.dataset["theme"] = theme;
  requestAnimationFrame(() => requestAnimationFrame(() => root.classList.remove("think-theme-changes")));
  writeSetting(SETTING, theme);
  for (const listener of listeners) listener();
}

export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, shownTheme, () => "light");
}

function systemTheme(): MediaQueryList {
  return matchMedia("(prefers-color-scheme: dark)");
}

function subscribe(listener: () => void): () => void {
  const system = systemTheme();
  listeners.add(listener);
  system.addEventListener("change", listener);
  return () => {
    listeners.delete(listener);
    system.removeEventListener("change", listener);
  };
}
