import { type ReactNode, Suspense } from "react";
import { createRoot } from "react-dom/client";

/** The hook suspends while it fetches the messages. */
export function mount(page: ReactNode): void {
  const container = document.getElementById("root");
  if (container === null) throw new Error("The page has no #root.");
  createRoot(container).render(<Suspense fallback={<p id="loading">Loading…</p>}>{page}</Suspense>);
}
