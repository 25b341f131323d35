// Documents in a bucket: the block lists them, `load_context` gives one. The bucket is asked when the block is read or a
// document is loaded, never when the agent starts.
import { byteLength } from "../../util/bytes.ts";
import { blockErrors } from "./errors.ts";
import type { SkillProvider } from "./provider.ts";

/** What is used of an R2 bucket. */
export interface SkillBucket {
  list(options: { prefix?: string; cursor?: string; include?: "customMetadata"[] }): Promise<SkillListing>;
  get(key: string): Promise<{ readonly size: number; text(): Promise<string> } | null>;
  put(key: string, value: string, options?: { customMetadata?: Record<string, string> }): Promise<unknown>;
}

/** One page. */
export interface SkillListing {
  readonly objects: readonly { readonly key: string; readonly customMetadata?: Record<string, string> }[];
  readonly truncated: boolean;
  readonly cursor?: string;
}

export interface R2SkillOptions {
  /** What the keys of the documents begin with; not part of their names here. */
  readonly prefix?: string;
  /** Only these documents are listed and loaded. */
  readonly keys?: readonly string[];
}

/** Documents a block lists; the line below them says that there are more. */
export const MAX_LISTED = 5_000;
/** Larger documents are not loaded into a prompt. */
export const MAX_DOCUMENT_BYTES = 1_000_000;
/** Metadata of an object is limited to 2 KB together. */
const MAX_DESCRIPTION_CHARS = 500;

/**
 * @example
 * session.withContext("skills", { provider: new R2SkillProvider(this.env.BUCKET, { prefix: "skills/" }) });
 */
export class R2SkillProvider implements SkillProvider {
  readonly #bucket: SkillBucket;
  readonly #prefix: string;
  readonly #allowed: ReadonlySet<string> | undefined;

  constructor(bucket: SkillBucket, { prefix = "", keys = [] }: R2SkillOptions = {}) {
    this.#bucket = bucket;
    this.#prefix = prefix;
    this.#allowed = keys.length === 0 ? undefined : new Set(keys);
  }

  async get(): Promise<string | null> {
    const lines: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await this.#bucket.list({
        prefix: this.#prefix,
        include: ["customMetadata"],
        ...(cursor !== undefined && { cursor })
      });
      for (const { key, customMetadata } of page.objects) {
        const name = key.slice(this.#prefix.length);
        // The prefix itself may be stored as an empty object.
        if (name === "" || !this.#isAllowed(name)) continue;
        const description = customMetadata?.["description"];
        lines.push(description ? `- ${name}: ${description}` : `- ${name}`);
      }
      cursor = page.truncated ? page.cursor : undefined;
    } while (cursor !== undefined && lines.length <= MAX_LISTED);
    if (lines.length > MAX_LISTED) lines.splice(MAX_LISTED, lines.length, "(There are more documents.)");
    return lines.length === 0 ? null : lines.join("\n");
  }

  async load(key: string): Promise<string | null> {
    if (!this.#isAllowed(key)) return null;
    const object = await this.#bucket.get(this.#prefix + key);
    if (object === null) return null;
    if (object.size > MAX_DOCUMENT_BYTES)
      throw blockErrors.BlockTooLargeError(`"${key}"`, object.size, MAX_DOCUMENT_BYTES);
    return object.text();
  }

  async set(key: string, content: string, description?: string): Promise<void> {
    const sizeBytes = byteLength(content);
    if (sizeBytes > MAX_DOCUMENT_BYTES) throw blockErrors.BlockTooLargeError(`"${key}"`, sizeBytes, MAX_DOCUMENT_BYTES);
    const about = description?.slice(0, MAX_DESCRIPTION_CHARS);
    await this.#bucket.put(
      this.#prefix + key,
      content,
      about === undefined || about === "" ? {} : { customMetadata: { description: about } }
    );
  }

  #isAllowed(key: string): boolean {
    return this.#allowed === undefined || this.#allowed.has(key);
  }
}
