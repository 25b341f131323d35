// Where the text of a context block comes from, and what a model may do with it. A provider's kind is given by the
// methods it has: nothing has to be declared twice.

/** A block the model reads. `null` is empty. */
export interface ContextProvider {
  get(): Promise<string | null>;
  /** Called before every `get` with the block's label and the id of the session it is in. */
  init?(label: string, sessionId: string): void | Promise<void>;
}

/** A block the model reads and writes as one text. */
export interface WritableContextProvider extends ContextProvider {
  set(content: string): Promise<void>;
}

/** A collection of documents: `get` lists them, `load` gives one. */
export interface SkillProvider extends ContextProvider {
  load(key: string): Promise<string | null>;
  set?(key: string, content: string, description?: string): Promise<void>;
}

/** A collection of entries found by searching: `get` says what is there. */
export interface SearchProvider extends ContextProvider {
  search(query: string): Promise<string | null>;
  set?(key: string, content: string): Promise<void>;
}

/** Anything a block can stand on. */
export type AnyContextProvider = ContextProvider | WritableContextProvider | SkillProvider | SearchProvider;

export function isSkillProvider(provider: object): provider is SkillProvider {
  return hasMethod(provider, "load");
}

export function isSearchProvider(provider: object): provider is SearchProvider {
  return hasMethod(provider, "search");
}

/** Written as one text. Collections are written entry by entry and are none. */
export function isWritableProvider(provider: object): provider is WritableContextProvider {
  return hasMethod(provider, "set") && !isKeyedProvider(provider);
}

export function isKeyedProvider(provider: object): provider is SkillProvider | SearchProvider {
  return isSkillProvider(provider) || isSearchProvider(provider);
}

/** Kinds of a block as the prompt names them, the first that applies. */
export type BlockTag = "searchable" | "loadable" | "readonly" | "writable";

/** What a provider's methods allow. */
export interface ProviderKind {
  readonly writable: boolean;
  readonly isSkill: boolean;
  readonly isSearchable: boolean;
}

/** No provider: an empty text that cannot be written. */
export function kindOf(provider: object | undefined): ProviderKind {
  if (provider === undefined) return { writable: false, isSkill: false, isSearchable: false };
  return {
    writable: hasMethod(provider, "set"),
    isSkill: isSkillProvider(provider),
    isSearchable: isSearchProvider(provider)
  };
}

export function tagOf({ writable, isSkill, isSearchable }: ProviderKind): BlockTag {
  if (isSearchable) return "searchable";
  if (isSkill) return "loadable";
  return writable ? "writable" : "readonly";
}

function hasMethod(provider: object, name: string): boolean {
  return typeof Reflect.get(provider, name) === "function";
}
