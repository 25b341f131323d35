// What a turn's system prompt is made of and what each piece costs. A base prompt that blocks took the place of is listed
// too, so that nobody has to wonder where it went. Pure but for asking the class for its base prompt.
import { estimateStringTokens } from "../session/tokens.ts";
import { byteLength } from "../util/bytes.ts";
import {
  promptSections,
  renderPrompt,
  withCapabilities,
  type ExposedTools,
  type PromptInput,
  type PromptSectionName
} from "./prompt.ts";

export interface ExplainedSection {
  readonly name: PromptSectionName;
  /** Of a context block; several of them make up the section "context". */
  readonly label?: string;
  readonly text: string;
  readonly sizeBytes: number;
  /** Estimated. */
  readonly tokens: number;
  /** The section whose presence keeps this one out of the prompt. */
  readonly replacedBy?: PromptSectionName;
}

export interface PromptExplanation {
  /** In the order of the prompt. */
  readonly sections: readonly ExplainedSection[];
  /** The whole prompt, as the model is given it. */
  readonly text: string;
  readonly sizeBytes: number;
  readonly tokens: number;
}

/** `tools`: those of the turn in question, for the section that names what the model can do. */
export function explainPrompt(input: PromptInput, tools: ExposedTools): PromptExplanation {
  const shown = withCapabilities(promptSections(input), tools);
  const text = renderPrompt(shown);
  const explained = shown.flatMap(({ name, text: section }): ExplainedSection[] => {
    const blocks = name === "context" ? input.session?.blocks : undefined;
    return blocks?.map((block) => measure({ name, ...block })) ?? [measure({ name, text: section })];
  });
  return { sections: withReplacedBase(explained, input), text, ...sizes(text) };
}

/** Listed where it would have been: in front of the blocks. */
function withReplacedBase(sections: readonly ExplainedSection[], input: PromptInput): ExplainedSection[] {
  const at = sections.findIndex(({ name }) => name === "context");
  const isReplaced = at >= 0 && sections.every(({ name }) => name !== "base");
  const base = isReplaced ? input.base() : "";
  if (base === "") return [...sections];
  return sections.toSpliced(at, 0, { ...measure({ name: "base", text: base }), replacedBy: "context" });
}

function measure(section: Pick<ExplainedSection, "name" | "label" | "text">): ExplainedSection {
  return { ...section, ...sizes(section.text) };
}

function sizes(text: string): { sizeBytes: number; tokens: number } {
  return { sizeBytes: byteLength(text), tokens: estimateStringTokens(text) };
}
