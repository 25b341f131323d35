// What kind of content a file has: by its name when it is written, by its first bytes where the stored type says
// nothing. Pure.

export const DEFAULT_TEXT_TYPE = "text/plain";
export const DEFAULT_BYTES_TYPE = "application/octet-stream";
/** Bytes that decide whether content without a type is text. */
const SNIFFED_BYTES = 4_096;

const BY_EXTENSION: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries({
    "text/css": "css",
    "text/csv": "csv",
    "text/html": "html htm",
    "text/markdown": "md markdown mdx",
    "text/javascript": "js mjs cjs jsx",
    "application/typescript": "ts mts cts tsx",
    "application/json": "json map jsonc",
    "application/xml": "xml",
    "application/pdf": "pdf",
    "application/zip": "zip",
    "application/gzip": "gz",
    "application/wasm": "wasm",
    "application/x-ndjson": "ndjson jsonl",
    "image/png": "png",
    "image/jpeg": "jpg jpeg",
    "image/gif": "gif",
    "image/webp": "webp",
    "image/svg+xml": "svg",
    "audio/mpeg": "mp3",
    "audio/wav": "wav",
    "video/mp4": "mp4",
    "text/plain": "txt log text ini conf env sh bash py rb go rs java c h cpp hpp cs php sql lua swift kt toml",
    "application/yaml": "yaml yml"
  }).flatMap(([type, extensions]) => extensions.split(" ").map((extension) => [extension, type]))
);

/** The type that a name stands for, if it does. */
export function typeOfName(path: string): string | undefined {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const dot = name.lastIndexOf(".");
  const extension = dot < 0 ? "" : name.slice(dot + 1).toLowerCase();
  return Object.hasOwn(BY_EXTENSION, extension) ? BY_EXTENSION[extension] : undefined;
}

/** Without parameters, in lower case; undefined where it says nothing about the content. */
export function namedType(stored: string | null | undefined): string | undefined {
  const type = (stored ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
  return type === "" || type === DEFAULT_BYTES_TYPE || type === "binary/octet-stream" ? undefined : type;
}

/** The type of content: as stored, or, where that says nothing, as its bytes look. SVG is text, as providers see it. */
export function mediaTypeOf(stored: string | null | undefined, bytes: Uint8Array): string {
  return namedType(stored) ?? sniff(bytes);
}

export function isTextType(type: string): boolean {
  return (
    type.startsWith("text/") ||
    /^application\/(?:json|javascript|typescript|xml|x-javascript|yaml|x-ndjson)$/.test(type) ||
    /\+(?:json|xml)$/.test(type)
  );
}

/** Whether content should be treated as text: what `edit`, `grep` and `read` do with it. */
export function isTextContent(stored: string | null | undefined, bytes: Uint8Array): boolean {
  const type = namedType(stored);
  // A stored type is the writer's word; bytes that are no text prove it wrong.
  return type === undefined ? looksLikeText(bytes) : isTextType(type) && !hasNul(bytes);
}

/** An image that providers take as one. */
export function isImageType(type: string): boolean {
  return type.startsWith("image/") && type !== "image/svg+xml";
}

function sniff(bytes: Uint8Array): string {
  const starts = (...head: number[]) => head.every((byte, index) => bytes[index] === byte);
  if (starts(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a)) return "image/png";
  if (starts(0xff, 0xd8, 0xff)) return "image/jpeg";
  if (starts(0x47, 0x49, 0x46, 0x38) && (bytes[4] === 0x37 || bytes[4] === 0x39) && bytes[5] === 0x61)
    return "image/gif";
  if (starts(0x52, 0x49, 0x46, 0x46) && [0x57, 0x45, 0x42, 0x50].every((byte, index) => bytes[8 + index] === byte))
    return "image/webp";
  if (starts(0x25, 0x50, 0x44, 0x46, 0x2d)) return "application/pdf";
  return looksLikeText(bytes) ? DEFAULT_TEXT_TYPE : DEFAULT_BYTES_TYPE;
}

function looksLikeText(bytes: Uint8Array): boolean {
  if (hasNul(bytes)) return false;
  const head = bytes.subarray(0, SNIFFED_BYTES);
  // The end of the sample may cut a character: `stream` keeps its beginning back.
  const text = new TextDecoder().decode(head, { stream: true });
  const replaced = text.split("\ufffd").length - 1;
  return text.length === 0 || replaced / text.length < 0.01;
}

function hasNul(bytes: Uint8Array): boolean {
  return bytes.subarray(0, SNIFFED_BYTES).includes(0);
}
