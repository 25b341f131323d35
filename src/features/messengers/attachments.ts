// Files that users send: which of them are fetched, and what a turn is given of each. A file's bytes decide what it is, not
// its sender: an image that is none would be refused by the model's provider with every later prompt. A file that the model
// is not given is named with the reason.
import { beforeDeadline } from "../../host/deadline.ts";
import type { Clock } from "../../host/ports.ts";
import type { FetchableAttachment, MessengerFile } from "../channels/capability.ts";
import { decodeText } from "../../util/bytes.ts";
import { isTextType, mediaTypeOf, namedType, typeOfName } from "../../util/media-type.ts";
import { viewBytes, type ChatAdapter, type ChatAttachment } from "./chat-adapter.ts";
import { classifyDeliveryError } from "./delivery-errors.ts";
import type { MessengerAttachment, MessengerEvent } from "./event.ts";

export interface MessengerAttachmentPolicy {
  /** Types that the model is given as files, such as `image/*`. Default: images and PDF. */
  readonly mediaTypes?: readonly string[];
  /** The most bytes of one file. Default 10 MB. */
  readonly maxBytes?: number;
  /** The most bytes of all files of one question. Default 24 MB: as much as one message can hold. */
  readonly maxTotalBytes?: number;
}

const DEFAULTS = { mediaTypes: ["image/*", "application/pdf"], maxBytes: 10_000_000, maxTotalBytes: 24_000_000 };
/** Bytes of a text that is repeated in the question. */
const MAX_TEXT_BYTES = 64 * 1024;
/** Files of one question; further ones are only named. */
const MAX_FILES = 20;
const FETCH_LIMIT_MS = 30_000;
const RETRY_AFTER_MS = 1_000;
const MAX_NAME_CHARS = 80;
/** Types whose first bytes are known: content that does not have them is something else. */
const RECOGNISED = /^(image\/|application\/pdf$)/;

export interface ReadAttachments {
  readonly files: readonly MessengerFile[];
  /** Texts for the model: contents of text files, and the names of files that could not be read. */
  readonly texts: readonly string[];
}

/** Reads the files of a question. Never throws: a file that cannot be read does not cost the question. */
export async function readAttachments(
  events: readonly MessengerEvent[],
  policy: MessengerAttachmentPolicy | false = {},
  { adapter, clock }: { readonly adapter: ChatAdapter; readonly clock: Clock }
): Promise<ReadAttachments> {
  const files: MessengerFile[] = [];
  const texts: string[] = [];
  if (policy === false) return { files, texts };
  const limits = { ...DEFAULTS, ...policy };
  let left = limits.maxTotalBytes;
  let count = 0;
  for (const { event, attachment, index } of attachmentsOf(events)) {
    if (!isWanted(attachment, limits.mediaTypes)) continue;
    const name = attachment.name ?? attachment.id ?? `attachment ${index + 1}`;
    count += 1;
    const maxBytes = Math.min(left, limits.maxBytes);
    const bytes =
      count > MAX_FILES || (attachment.size ?? 0) > maxBytes
        ? undefined
        : await fetchInTime(attachment, { adapter, clock }).catch((error: unknown) => toFailure(name, error));
    const content = bytes === undefined ? "it is too large" : readContent(attachment, bytes, { ...limits, maxBytes });
    if (typeof content === "string") texts.push(`The attachment ${name} was not read: ${content}.`);
    else if ("text" in content) texts.push(`Content of ${name}:\n${content.text}`);
    else {
      left -= content.bytes.byteLength;
      files.push({ ...content, name, path: makePath(event, index, name) });
    }
  }
  return { files, texts };
}

function* attachmentsOf(
  events: readonly MessengerEvent[]
): Generator<{ event: MessengerEvent; attachment: MessengerAttachment; index: number }> {
  for (const event of events) {
    for (const [index, attachment] of (event.message?.attachments ?? []).entries()) yield { event, attachment, index };
  }
}

/** Whether a file is fetched at all. */
function isWanted(attachment: MessengerAttachment, mediaTypes: readonly string[]): boolean {
  if (!attachment.fetchMetadata) return false;
  const type = declaredType(attachment);
  return type !== undefined && (isAllowed(type, mediaTypes) || isTextType(type));
}

function declaredType({ mediaType, name }: MessengerAttachment): string | undefined {
  return namedType(mediaType) ?? typeOfName(name ?? "");
}

function isAllowed(type: string, mediaTypes: readonly string[]): boolean {
  return mediaTypes.some(
    (allowed) => allowed === type || (allowed.endsWith("/*") && type.startsWith(allowed.slice(0, -1)))
  );
}

/** Reads a file's content. A string says why it cannot be given to the model. */
function readContent(
  attachment: MessengerAttachment,
  bytes: Uint8Array | Error,
  { mediaTypes, maxBytes }: { readonly mediaTypes: readonly string[]; readonly maxBytes: number }
): { mediaType: string; bytes: Uint8Array } | { text: string } | string {
  if (bytes instanceof Error) return "it could not be fetched";
  if (bytes.byteLength === 0) return "it is empty";
  if (bytes.byteLength > maxBytes) return "it is too large";
  const declared = declaredType(attachment) ?? "";
  const actual = mediaTypeOf(undefined, bytes);
  const mediaType = RECOGNISED.test(declared) || RECOGNISED.test(actual) ? actual : declared;
  if (isAllowed(mediaType, mediaTypes)) return { mediaType, bytes };
  if (!isTextType(declared) || !isTextType(actual)) return "its content is not of a type that can be read";
  return bytes.byteLength <= MAX_TEXT_BYTES ? { text: decodeText(bytes) } : "it is too large";
}

/** Fetches a file, and tries twice: providers answer 500 now and then. */
function fetchInTime(
  attachment: MessengerAttachment,
  { adapter, clock }: { adapter: ChatAdapter; clock: Clock }
): Promise<Uint8Array> {
  const late = () => new DOMException("The file did not arrive in time.", "TimeoutError");
  const file = withRetry(() => fetchAttachment(adapter, attachment), clock);
  return beforeDeadline(file, { clock, timeoutMs: FETCH_LIMIT_MS, late });
}

async function withRetry<T>(work: () => Promise<T>, clock: Clock): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (classifyDeliveryError(error).kind === "rejected") throw error;
    await clock.sleep(RETRY_AFTER_MS);
    return work();
  }
}

/** Fetches a file. Throws where the adapter has no way to it, and what the adapter throws. */
export async function fetchAttachment(adapter: ChatAdapter, attachment: FetchableAttachment): Promise<Uint8Array> {
  const { name, mediaType: mimeType, size, url, fetchMetadata } = attachment;
  const known: ChatAttachment = { name, mimeType, size, url, fetchMetadata };
  const { fetchData } = adapter.rehydrateAttachment?.(known as never) ?? {};
  if (!fetchData) throw new TypeError("The adapter of this messenger cannot fetch attachments.");
  return viewBytes(await fetchData());
}

function toFailure(name: string, error: unknown): Error {
  console.warn(`The attachment "${name}" of a messenger could not be fetched.`, error);
  return error instanceof Error ? error : new Error(String(error));
}

/** Makes a path in the workspace of the agent that answers. A sender chooses names: none of them reaches above its folder. */
function makePath({ messengerId, message }: MessengerEvent, index: number, name: string): string {
  const safe = (text: string) => text.replaceAll(/[^\p{L}\p{N}._-]+/gu, "_").replace(/^\.+/, "_");
  const file = safe(name).slice(-MAX_NAME_CHARS);
  return `/attachments/${safe(messengerId)}/${safe(message?.id ?? "")}-${index + 1}-${file}`;
}
