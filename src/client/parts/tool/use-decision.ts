// A decision on its way: it is sent once, and a question that still waits after it says why.
import { useState } from "react";

type Progress = { readonly step: "open" | "sent" } | { readonly step: "failed"; readonly why: string };

export function useDecision(): { readonly progress: Progress; decide(decision: Promise<unknown>): Promise<void> } {
  const [progress, setProgress] = useState<Progress>({ step: "open" });
  const decide = async (decision: Promise<unknown>) => {
    setProgress({ step: "sent" });
    try {
      const why = refusalIn(await decision);
      // Code that waits again asks another question on this card.
      setProgress(why === undefined ? { step: "open" } : { step: "failed", why });
    } catch (error) {
      setProgress({ step: "failed", why: error instanceof Error ? error.message : String(error) });
    }
  };
  return { progress, decide };
}

/** Why nothing was done by a decision that was answered. */
function refusalIn(output: unknown): string | undefined {
  if (typeof output !== "object" || output === null || Reflect.get(output, "status") !== "error") return undefined;
  const error: unknown = Reflect.get(output, "error");
  return typeof error === "string" ? error : undefined;
}
