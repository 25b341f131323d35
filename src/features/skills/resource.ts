// Resources of a skill by path: which paths are valid, what kind of file each is, and how its bytes become text. Pure.
import { decodeBase64, encodeBase64, encodeText } from "../../util/bytes.ts";
import type { SkillResource, SkillResourceDescriptor, SkillResourceKind } from "./skill.ts";

export const SKILL_FILE = "SKILL.md";

/** The most bytes of a resource; a larger one is listed and not read. */
export const MAX_RESOURCE_BYTES = 10 * 1024 * 1024;
const MAX_PATH_CHARS = 512;

const ASSET_ROOTS = ["assets", "graphics", "fonts", "templates", "rendered-files", "illustrations"];
const KIND_OF_ROOT: Readonly<Record<string, SkillResourceKind>> = {
  references: "reference",
  scripts: "script",
  ...Object.fromEntries(ASSET_ROOTS.map((root) => [root, "asset" as const]))
};

const TEXT_EXTENSIONS = new Set(
  "bash css csv html js json jsx md mjs py sh svg ts tsx txt xml yaml yml".split(" ").map((one) => `.${one}`)
);

const MIME_TYPES: Readonly<Record<string, string>> = {
  ".bash": "application/x-sh",
  ".css": "text/css",
  ".csv": "text/csv",
  ".gif": "image/gif",
  ".html": "text/html",
  ".jpeg": "image/jpeg",
  ".jpg": "image/jpeg",
  ".js": "text/javascript",
  ".json": "application/json",
  ".md": "text/markdown",
  ".mjs": "text/javascript",
  ".otf": "font/otf",
  ".pdf": "application/pdf",
  ".png": "image/png",
  ".py": "text/x-python",
  ".sh": "application/x-sh",
  ".svg": "image/svg+xml",
  ".ts": "application/typescript",
  ".tsx": "application/typescript",
  ".ttf": "font/ttf",
  ".txt": "text/plain",
  ".webp": "image/webp",
  ".woff": "font/woff",
  ".woff2": "font/woff2",
  ".xml": "application/xml",
  ".yaml": "application/yaml",
  ".yml": "application/yaml"
};

/** Whether a path is relative, without empty, "." and ".." segments, without control characters. Others do not exist for the package. */
export function isResourcePath(path: string): boolean {
  if (path === "" || path.length > MAX_PATH_CHARS || /[\p{Cc}\\]/u.test(path)) return false;
  return path.split("/").every((segment) => segment !== "" && segment !== "." && segment !== "..");
}

export function extensionOf(path: string): string {
  return /\.[^./]+$/.exec(path)?.[0].toLowerCase() ?? "";
}

export function resourceKindOf(path: string): SkillResourceKind {
  const [root = "", ...rest] = path.split("/");
  return rest.length > 0 && Object.hasOwn(KIND_OF_ROOT, root) ? (KIND_OF_ROOT[root] ?? "file") : "file";
}

/** Describes a resource before it is read. */
export function describeResource(path: string, size: number | undefined): SkillResourceDescriptor {
  const extension = extensionOf(path);
  const mimeType = MIME_TYPES[extension];
  const encoding = TEXT_EXTENSIONS.has(extension) ? ("text" as const) : undefined;
  return { path, kind: resourceKindOf(path), size, encoding, mimeType };
}

/** The resource that bytes are: text where the name says so or the bytes are UTF-8 without NUL; otherwise base64. */
export function resourceOf(path: string, bytes: Uint8Array): SkillResource {
  const described = describeResource(path, bytes.byteLength);
  const text = described.encoding === "text" ? new TextDecoder().decode(bytes) : decodeStrictly(bytes);
  return text === undefined
    ? { ...described, encoding: "base64", content: encodeBase64(bytes) }
    : { ...described, encoding: "text", content: text };
}

export function bytesOf({ encoding, content }: Pick<SkillResource, "encoding" | "content">): Uint8Array {
  return encoding === "base64" ? decodeBase64(content) : encodeText(content);
}

/** Decodes a text. Undefined for bytes that are none. */
function decodeStrictly(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    // Not UTF-8: it is handed out as base64.
    return undefined;
  }
}
