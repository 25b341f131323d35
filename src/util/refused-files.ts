// Files that a provider refused, remembered with the message that holds them: the prompt shows a note in their place, the
// message itself stays as it was sent. A file is known by a fingerprint, so that another one in its place is tried anew.
import { isObject } from "./json.ts";

/** In the metadata of a message; never a client's to set. */
export const REFUSED_FILES = "refusedFiles";

/** Of a file's address or data: enough to tell two files of one message apart, without reading megabytes. */
const SAMPLE_CHARS = 24;

interface FilePart {
  readonly type: "file";
  readonly mediaType: string;
  readonly filename?: string;
  readonly url: string;
}

interface Message {
  readonly parts: readonly { readonly type: string }[];
  readonly metadata?: unknown;
}

/** The files that were not refused before. */
export function triedFiles(message: Message): FilePart[] {
  return message.parts.flatMap((part) => (isFilePart(part) && !isRefused(message, part) ? [part] : []));
}

export function isRefused({ metadata }: Message, file: FilePart): boolean {
  const refused = isObject(metadata) ? metadata[REFUSED_FILES] : undefined;
  return Array.isArray(refused) && refused.includes(fingerprint(file));
}

/** The message with these files marked. */
export function withRefused<M extends Message>(message: M, files: readonly FilePart[]): M {
  const metadata = isObject(message.metadata) ? message.metadata : {};
  const before: unknown = metadata[REFUSED_FILES];
  const refused = new Set([...(Array.isArray(before) ? before : []), ...files.map(fingerprint)]);
  return { ...message, metadata: { ...metadata, [REFUSED_FILES]: [...refused] } };
}

function isFilePart(part: { readonly type: string }): part is FilePart {
  return part.type === "file" && "url" in part && typeof part.url === "string";
}

function fingerprint({ mediaType, url }: FilePart): string {
  return `${mediaType} ${url.length} ${url.slice(-SAMPLE_CHARS)}`;
}
