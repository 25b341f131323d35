// Skills in an R2 bucket. They are read, never written. The bucket is first read when a turn starts, not when the agent does.
import { DirectorySource, MAX_SOURCE_FILES, type SkillFile } from "./directory-source.ts";
import type { SkillSource } from "./skill.ts";

/** An R2 bucket, as far as it is used. */
export interface SkillsBucket {
  list(options: { prefix?: string; cursor?: string }): Promise<SkillsBucketPage>;
  get(key: string): Promise<{ arrayBuffer(): Promise<ArrayBuffer> } | null>;
}

export interface SkillsBucketPage {
  readonly objects: readonly {
    readonly key: string;
    readonly size: number;
    readonly etag: string;
    readonly uploaded?: Date;
  }[];
  readonly truncated: boolean;
  readonly cursor?: string;
}

export interface R2SkillsOptions {
  /** The beginning of the keys; "/" is added where it is missing. */
  readonly prefix?: string;
  /** Names of the skills that are taken; all by default. */
  readonly skills?: readonly string[];
  readonly id?: string;
  /** Whether the fingerprint is made of sizes and etags (the default), or of contents, which reads every object. */
  readonly fingerprint?: "metadata" | "content";
  /** How old a listing may be, in milliseconds; 60,000 by default, 0: it is made before every turn. */
  readonly refreshIntervalMs?: number;
}

/**
 * Makes a source of the skills below a prefix of a bucket, one directory each.
 *
 * @example
 * override getSkills() {
 *   return [skills.r2(this.env.SKILLS_BUCKET, { prefix: "skills/" })];
 * }
 */
export function r2(bucket: SkillsBucket, options: R2SkillsOptions = {}): SkillSource {
  const { prefix: given = "", id, ...rest } = options;
  const prefix = given === "" || given.endsWith("/") ? given : `${given}/`;
  return new DirectorySource({
    ...rest,
    id: id ?? `r2:${prefix === "" ? "/" : prefix}`,
    files: {
      list: () => listAll(bucket, prefix),
      read: async (path) => {
        const object = await bucket.get(prefix + path);
        return object ? new Uint8Array(await object.arrayBuffer()) : null;
      }
    }
  });
}

async function listAll(bucket: SkillsBucket, prefix: string): Promise<SkillFile[]> {
  const files: SkillFile[] = [];
  let cursor: string | undefined;
  do {
    const page = await bucket.list({ prefix, cursor });
    for (const { key, size, etag, uploaded } of page.objects)
      files.push({ path: key.slice(prefix.length), size, tag: `${etag} ${uploaded?.getTime() ?? ""}` });
    cursor = page.truncated ? page.cursor : undefined;
  } while (cursor !== undefined && files.length <= MAX_SOURCE_FILES);
  return files;
}
