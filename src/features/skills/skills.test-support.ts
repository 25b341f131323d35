// Sources and buckets for tests.
import { encodeText } from "../../util/bytes.ts";
import type { SkillsBucket } from "./r2-source.ts";
import type { SkillManifest, SkillResource } from "./skill.ts";
import { resourceOf } from "./resource.ts";

export function skillFile(name: string, body = "Do it.", description = `What ${name} is for.`): string {
  return `---\nname: ${name}\ndescription: ${description}\n---\n${body}`;
}

export function manifestOf(files: Readonly<Record<string, string | Uint8Array>> = {}, name = "greet"): SkillManifest {
  const resources = Object.entries(files).map(([path, content]): SkillResource =>
    resourceOf(path, typeof content === "string" ? encodeText(content) : content)
  );
  const skill = { name, description: `What ${name} is for.`, body: `Instructions of ${name}.`, resources };
  return { id: `test:${name}`, fingerprint: "1", skills: [skill] };
}

/** A bucket in memory that counts what is asked of it. Pages have two objects. */
export class MemoryBucket implements SkillsBucket {
  readonly objects = new Map<string, { bytes: Uint8Array; version: number }>();
  readonly reads: string[] = [];
  lists = 0;
  failure: Error | undefined;

  put(key: string, content: string | Uint8Array): this {
    const bytes = typeof content === "string" ? encodeText(content) : content;
    this.objects.set(key, { bytes, version: (this.objects.get(key)?.version ?? 0) + 1 });
    return this;
  }

  async list({ prefix = "", cursor }: { prefix?: string; cursor?: string }) {
    if (this.failure) throw this.failure;
    if (cursor === undefined) this.lists += 1;
    const keys = [...this.objects.keys()].filter((key) => key.startsWith(prefix)).toSorted();
    const start = Number(cursor ?? 0);
    const objects = keys.slice(start, start + 2).map((key) => {
      const { bytes, version } = this.objects.get(key) ?? { bytes: new Uint8Array(), version: 0 };
      return { key, size: bytes.byteLength, etag: `v${version}`, uploaded: new Date(version) };
    });
    return { objects, truncated: start + 2 < keys.length, cursor: String(start + 2) };
  }

  async get(key: string) {
    if (this.failure) throw this.failure;
    this.reads.push(key);
    const object = this.objects.get(key);
    return object ? { arrayBuffer: async () => object.bytes.slice().buffer } : null;
  }
}
