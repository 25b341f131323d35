// What a context block is: as it is declared, and as it is seen once its text was read. Pure.
import { estimateStringTokens } from "../tokens.ts";
import { blockErrors } from "./errors.ts";
import { kindOf, type AnyContextProvider, type ProviderKind } from "./provider.ts";

export interface SessionContextOptions {
  /** Tells the model what the block is for. */
  readonly description?: string;
  /** A write that makes the block larger is refused. Not for collections. */
  readonly maxTokens?: number;
  /** Where the text is. Default: a writable text in the agent's own storage. */
  readonly provider?: AnyContextProvider;
}

export interface ContextConfig extends SessionContextOptions {
  readonly label: string;
}

/** A block whose text was read. */
export interface ContextBlock {
  readonly label: string;
  readonly description?: string;
  readonly content: string;
  readonly tokens: number;
  readonly maxTokens?: number;
  readonly writable: boolean;
  readonly isSkill: boolean;
  readonly isSearchable: boolean;
}

/** Labels are words in a prompt and in the schema of a tool. */
export const MAX_LABEL_CHARS = 128;
/** Blocks of one session; every one of them is read for every render. */
export const MAX_BLOCKS = 256;

/** Throws InvalidBlockError. */
export function checkConfig({ label, maxTokens, provider }: ContextConfig): void {
  const refuse = (reason: string) => blockErrors.InvalidBlockError(String(label).slice(0, MAX_LABEL_CHARS), reason);
  if (typeof label !== "string" || label === "" || label.length > MAX_LABEL_CHARS) {
    throw refuse(`its label must have 1 to ${MAX_LABEL_CHARS} characters`);
  }
  if (maxTokens !== undefined && !(maxTokens > 0)) throw refuse("maxTokens must be more than zero");
  if (provider !== undefined && typeof Reflect.get(provider, "get") !== "function") {
    throw refuse("its provider has no get method");
  }
}

export function blockOf(
  config: ContextConfig,
  content: string,
  kind: ProviderKind = kindOf(config.provider)
): ContextBlock {
  const { label, description, maxTokens } = config;
  return {
    label,
    ...(description !== undefined && { description }),
    content,
    tokens: estimateStringTokens(content),
    ...(maxTokens !== undefined && { maxTokens }),
    ...kind
  };
}

/** How text is put behind a text: on a line of its own. */
export function joinLines(current: string, addition: string): string {
  if (current === "" || /^\r?\n/.test(addition)) return current + addition;
  return `${current}\n${addition}`;
}
