// What becomes of a submit that comes while another turn is running or waiting. Pure.
import { assertNever } from "../util/assert-never.ts";
import type { ChatTrigger } from "./request-body.ts";

export const DEFAULT_DEBOUNCE_MS = 750;

export type MessageConcurrency =
  | "queue"
  | "latest"
  | "merge"
  | "drop"
  | {
      readonly strategy: "debounce";
      /** Default 750; a value that is no duration counts as the default. */
      readonly debounceMs?: number;
    };

export type OverlapDecision =
  | { readonly do: "run" }
  | { readonly do: "drop" }
  /** Runs unless a newer one of its kind is there when its time comes. */
  | { readonly do: "run-if-newest"; readonly delayMs: number };

export interface Overlap {
  readonly trigger: ChatTrigger;
  readonly isBusy: boolean;
}

export function decideOverlap(policy: MessageConcurrency, { trigger, isBusy }: Overlap): OverlapDecision {
  // A regeneration replaces an answer: no later message makes up for it.
  if (!isBusy || trigger === "regenerate-message") return { do: "run" };
  switch (policy) {
    case "queue":
      return { do: "run" };
    case "drop":
      return { do: "drop" };
    case "latest":
    case "merge":
      return { do: "run-if-newest", delayMs: 0 };
    default:
      if (policy.strategy === "debounce") return { do: "run-if-newest", delayMs: debounceOf(policy.debounceMs) };
      return assertNever(policy.strategy);
  }
}

function debounceOf(given: number | undefined): number {
  return typeof given === "number" && Number.isFinite(given) && given >= 0 ? given : DEFAULT_DEBOUNCE_MS;
}
