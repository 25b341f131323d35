// The system prompt of a turn, piece by piece, with what each costs.

import type { DeferredToolsExplanation } from "./tool-discovery.ts";

export type PromptSectionName = "channel" | "base" | "context" | "feature" | "capabilities";

export interface ExplainedSection {
  readonly name: PromptSectionName;
  /** Of a context block, of which several make up the section "context", or of what a feature brought. */
  readonly label?: string;
  readonly text: string;
  readonly sizeBytes: number;
  /** Estimated. */
  readonly tokens: number;
  /** The section whose presence keeps this one out of the prompt. */
  readonly replacedBy?: PromptSectionName;
}

export interface PromptExplanation {
  /** Tools that the model is offered only after it has found them; absent: all are offered. */
  readonly deferredTools?: DeferredToolsExplanation;
  /** In the order of the prompt. */
  readonly sections: readonly ExplainedSection[];
  /** The whole prompt, as the model is given it. */
  readonly text: string;
  readonly sizeBytes: number;
  readonly tokens: number;
}
