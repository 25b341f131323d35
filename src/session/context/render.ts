// How context blocks read in the system prompt: plain text, a heading that says what the block is and how full it is,
// then its content. The same blocks always give the same bytes, so that providers find the prompt in their caches. Pure.
import type { ContextBlock } from "./block.ts";
import { tagOf } from "./provider.ts";

const RULE = "═".repeat(46);

/** One block as it stands in the prompt. */
export interface PromptBlock {
  readonly label: string;
  readonly text: string;
  /** Declared by the user's own withContext: such blocks take the place of a base prompt, others only add to it. */
  readonly isDeclared: boolean;
}

/** Undefined for a block that says nothing and cannot be filled. */
export function renderBlock(block: ContextBlock): string | undefined {
  const isFixed = !block.writable && !block.isSkill && !block.isSearchable;
  if (block.content === "" && isFixed) return undefined;
  return `${RULE}\n${heading(block)}\n${RULE}\n${block.content}`;
}

export function joinPrompt(blocks: readonly Pick<PromptBlock, "text">[]): string {
  return blocks.map(({ text }) => text).join("\n\n");
}

/** `37%`, for a block with a limit. */
export function usagePercent(tokens: number, maxTokens: number): string {
  return `${Math.round((tokens / maxTokens) * 100)}%`;
}

function heading(block: ContextBlock): string {
  const { label, description, tokens, maxTokens } = block;
  const pieces = [label.toUpperCase()];
  if (description !== undefined && description !== "") pieces.push(`(${description})`);
  if (maxTokens !== undefined) pieces.push(`[${usagePercent(tokens, maxTokens)} — ${tokens}/${maxTokens} tokens]`);
  pieces.push(`[${tagOf(block)}]`);
  return pieces.join(" ");
}
