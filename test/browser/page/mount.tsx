import type { ReactNode } from "react";
import { createRoot } from "react-dom/client";

/** The hook suspends while it fetches the messages. No `Suspense`: React would keep a fallback on the screen for 300 ms. */
export function mount(page: ReactNode): void {
  const container = document.getElementById("root");
  if (container === null) throw new Error("The page has no #root.");
  createRoot(container).render(page);
}
