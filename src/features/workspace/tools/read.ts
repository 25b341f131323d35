// `read`: text with line numbers; of images and PDFs a note is stored, and the model is given the bytes, also on replay.
import { tool, type Tool } from "ai";
import { MAX_MEDIA_BYTES, toolMediaPart } from "../../../model/tool-media.ts";
import { decodeText, encodeBase64 } from "../../../util/bytes.ts";
import { sha256Hex } from "../../../util/hex.ts";
import { isImageType, isTextType, mediaTypeOf } from "../../../util/media-type.ts";
import { nameOf, normalizePath } from "../paths.ts";
import { readFileFailure, orFailure, type ToolFailure } from "./failure.ts";
import { toolInput } from "../../../feature/tool-input.ts";
import type { ReadOperations } from "./operations.ts";
import { formatSize } from "../../../util/format-size.ts";

export const MAX_READ_LINE_CHARS = 2_000;
export const MAX_LINES = 2_000;
/** Characters of one result, so that a page of long lines cannot fill the context. */
export const MAX_READ_CHARS = 200_000;
/** Bytes of text that can be read; larger files are for `grep` and `bash`. */
const MAX_TEXT_BYTES = 32 * 1024 * 1024;

export interface ReadInput {
  path: string;
  offset?: number;
  limit?: number;
}

interface MediaOutput {
  kind: "image" | "file";
  path: string;
  name: string;
  mediaType: string;
  sizeBytes: number;
  /** The SHA-256 of the bytes: a later replay says when the file is another one by then. */
  sha256: string;
}

export interface TextOutput {
  path: string;
  content: string;
  totalLines: number;
  fromLine?: number;
  toLine?: number;
}

interface BinaryOutput {
  kind: "binary";
  path: string;
  name: string;
  mediaType: string;
  sizeBytes: number;
  unsupported: true;
}

export type ReadOutput = ToolFailure | MediaOutput | TextOutput | BinaryOutput;

export interface ReadToolOptions {
  readonly ops: ReadOperations;
  /** Whether the model is still shown the image or PDF of a call; if not, it reads a note. Default: always. */
  readonly showsMedia?: (toolCallId: string) => boolean;
}

/** @example const tools = { read: createReadTool({ ops: workspace }) }; */
export function createReadTool(options: ReadToolOptions): Tool<ReadInput, ReadOutput> {
  const { showsMedia = () => true } = options;
  return tool({
    description:
      "Reads a file of the workspace. Text comes with line numbers (number, tab, line); use offset and limit for a part of a large file. Images and PDFs are shown to you as they are.",
    inputSchema: toolInput<ReadInput>({
      path: { type: "string", description: "Absolute path of the file" },
      offset: { type: "integer", minimum: 1, isOptional: true, description: "First line to read, counted from 1" },
      limit: { type: "integer", minimum: 1, isOptional: true, description: "Number of lines to read" }
    }),
    execute: (input) => orFailure(() => readForModel(options.ops, input)),
    toModelOutput: async ({ toolCallId, input, output }) =>
      await viewForModel({ ops: options.ops, path: pathOf(input), isShown: showsMedia(toolCallId) }, output)
  });
}

async function readForModel(ops: ReadOperations, { path, offset, limit }: ReadInput): Promise<ReadOutput> {
  const stat = await ops.stat(path);
  if (!stat) return { error: `File not found: ${path}` };
  if (stat.type === "directory") return { error: `${path} is a directory, not a file` };
  if (stat.size > MAX_TEXT_BYTES && !isImageType(stat.mimeType))
    return {
      error: `${path} has ${formatSize(stat.size)}, too much to read; search it with grep, or cut it with bash`
    };
  const bytes = await ops.readFileBytes(path);
  if (bytes === null) return { error: `File not found: ${path}` };
  const mediaType = mediaTypeOf(stat.mimeType, bytes);
  const about = {
    path: normalizePath(path),
    name: nameOf(normalizePath(path)),
    mediaType,
    sizeBytes: bytes.byteLength
  };
  if (isImageType(mediaType)) return { kind: "image", ...about, sha256: await sha256Hex(bytes) };
  if (mediaType === "application/pdf") return { kind: "file", ...about, sha256: await sha256Hex(bytes) };
  if (!isTextType(mediaType)) return { kind: "binary", ...about, unsupported: true };
  return toTextOutput(about.path, decodeText(bytes), { offset, limit });
}

function toTextOutput(
  path: string,
  text: string,
  { offset, limit }: { readonly offset: number | undefined; readonly limit: number | undefined }
): ReadOutput {
  const lines = text.split("\n");
  const totalLines = lines.length;
  const from = offset ?? 1;
  if (from > totalLines) return { error: `${path} has ${totalLines} lines; there is no line ${from}` };
  const end = limit === undefined ? totalLines : Math.min(totalLines, from + limit - 1);
  const shown = numberLines(lines.slice(from - 1, end), from);
  const left = end - from + 1 - shown.length;
  const content = left > 0 ? [...shown, `... (${left} more lines truncated)`] : shown;
  const range = offset === undefined && limit === undefined ? {} : { fromLine: from, toLine: from + shown.length - 1 };
  return { path, content: content.join("\n"), totalLines, ...range };
}

function numberLines(lines: readonly string[], first: number): string[] {
  const shown: string[] = [];
  let chars = 0;
  for (const line of lines.slice(0, MAX_LINES)) {
    const text = `${first + shown.length}\t${cutLine(line)}`;
    chars += text.length + 1;
    if (chars > MAX_READ_CHARS && shown.length > 0) break;
    shown.push(text);
  }
  return shown;
}

export function cutLine(line: string): string {
  if (line.length <= MAX_READ_LINE_CHARS) return line;
  // Not between the two halves of a character.
  return `${line.slice(0, MAX_READ_LINE_CHARS).replace(/[\ud800-\udbff]$/, "")}... (truncated)`;
}

interface Viewer {
  readonly ops: ReadOperations;
  readonly path: string | undefined;
  readonly isShown: boolean;
}

/** Makes what the model sees of a stored output, which may be an old one, or one that was cut. */
async function viewForModel(viewer: Viewer, output: unknown) {
  if (typeof output === "string") return { type: "text" as const, value: output };
  if (hasText(output, "error")) return { type: "error-text" as const, value: output.error };
  if (hasText(output, "content")) return { type: "text" as const, value: output.content };
  if (isMedia(output)) return await viewMedia(viewer, output);
  // It was stored as JSON.
  return { type: "json" as const, value: JSON.parse(JSON.stringify(output) ?? "null") };
}

async function viewMedia({ ops, path, isShown }: Viewer, output: MediaOutput) {
  const note = `${output.path} (${output.mediaType}, ${formatSize(output.sizeBytes)})`;
  if (!isShown) return { type: "text" as const, value: `${note}: shown earlier. Read it again to see it.` };
  const place = path ?? output.path;
  let bytes: Uint8Array | null;
  try {
    bytes = await ops.readFileBytes(place);
  } catch (error) {
    const reason = readFileFailure(error);
    if (reason === undefined) throw error;
    return { type: "error-text" as const, value: reason };
  }
  if (bytes === null) return { type: "error-text" as const, value: `File not found: ${place}` };
  if (bytes.byteLength > MAX_MEDIA_BYTES) {
    const sizes = `${formatSize(bytes.byteLength)} (${bytes.byteLength} bytes), more than the ${formatSize(MAX_MEDIA_BYTES)} (${MAX_MEDIA_BYTES} bytes) that can be shown`;
    return { type: "error-text" as const, value: `${place} has ${sizes}` };
  }
  const isChanged = typeof output.sha256 === "string" && (await sha256Hex(bytes)) !== output.sha256;
  const text = isChanged ? `${note}. The file was changed since this call; this is what it holds now.` : note;
  const media = { data: encodeBase64(bytes), mediaType: output.mediaType, filename: output.name };
  return { type: "content" as const, value: [{ type: "text" as const, text }, toolMediaPart(media)] };
}

function pathOf(input: unknown): string | undefined {
  return hasText(input, "path") ? input.path : undefined;
}

function hasText<Name extends string>(value: unknown, name: Name): value is Record<Name, string> {
  return typeof value === "object" && value !== null && typeof Reflect.get(value, name) === "string";
}

function isMedia(value: unknown): value is MediaOutput {
  if (!hasText(value, "kind") || !hasText(value, "mediaType") || !hasText(value, "path")) return false;
  return (value.kind === "image" || value.kind === "file") && hasText(value, "name");
}
