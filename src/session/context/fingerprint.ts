// Which blocks a prompt was made of, as one text: labels, descriptions, limits and kinds, not contents. A stored prompt
// whose fingerprint differs was rendered by other code and is rendered again. Pure.
import type { ContextConfig } from "./block.ts";
import { kindOf, tagOf } from "./provider.ts";

/** Goes up when the same blocks are rendered differently. */
const FORMAT = 1;

export interface DeclaredBlock {
  readonly config: ContextConfig;
  readonly isDeclared: boolean;
}

export function fingerprintOf(blocks: readonly DeclaredBlock[]): string {
  return JSON.stringify([
    FORMAT,
    ...blocks.map(({ config: { label, description, maxTokens, provider }, isDeclared }) => {
      const kind = kindOf(provider);
      return [label, description ?? null, maxTokens ?? null, tagOf(kind), kind.writable, isDeclared];
    })
  ]);
}
