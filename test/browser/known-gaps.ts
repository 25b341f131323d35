// Scenarios that do not hold yet, each with the reason. They run as tests that must fail, so that one which starts to
// hold is noticed and its entry removed.
import type { GenerationName } from "./page-bundle.ts";

export interface KnownGap {
  readonly generation: GenerationName;
  readonly scenario: string;
  readonly reason: string;
}

export const KNOWN_GAPS: readonly KnownGap[] = [];

export function isKnownGap(generation: GenerationName, scenario: string): boolean {
  return KNOWN_GAPS.some((gap) => gap.generation === generation && gap.scenario === scenario);
}
