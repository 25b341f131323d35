// Files on their way between a messenger and a conversation: what a user sent becomes part of the question and a file of the
// workspace; what the turn's answer holds, and what its actions attached, is given to the messenger as bytes.
import type { FileUIPart, UIMessage } from "ai";
import { encodeBase64 } from "../../util/bytes.ts";
import { isObject, parseJson } from "../../util/json.ts";
import type { WorkspaceLike } from "../workspace/workspace-like.ts";
import { typeOfName } from "../../util/media-type.ts";
import { decodeDataUrl } from "../../session/file-marker.ts";
import type { ReplyAttachment } from "../../feature/approval-contract.ts";
import type { MessengerFile, ReplyFile } from "./capability.ts";

/** The most files of one answer; further ones are left out, with a line in the log. */
const MAX_FILES = 10;
/** Bytes of all files of an answer: as many as one call between two objects can carry. */
const MAX_TOTAL_BYTES = 25_000_000;
const UNKNOWN_TYPE = "application/octet-stream";

/** Adds to the message the files that a user sent. A workspace that does not take one does not cost the question. */
export async function withFiles(
  message: UIMessage,
  files: readonly MessengerFile[],
  workspace: WorkspaceLike
): Promise<UIMessage> {
  const kept: string[] = [];
  for (const { path, bytes, mediaType } of files) {
    try {
      if (!workspace.writeFileBytes) continue;
      await workspace.writeFileBytes(path, bytes, mediaType);
      kept.push(path);
    } catch (error) {
      console.warn(`The workspace did not take the file "${path}" of a messenger.`, error);
    }
  }
  const note =
    kept.length === 0 ? [] : [{ type: "text" as const, text: `Saved in the workspace:\n${kept.join("\n")}` }];
  return { ...message, parts: [...message.parts, ...note, ...files.map(toFilePart)] };
}

function toFilePart({ name, mediaType, bytes }: MessengerFile): FileUIPart {
  return { type: "file", mediaType, filename: name, url: `data:${mediaType};base64,${encodeBase64(bytes)}` };
}

export interface AnswerFiles {
  /** The chunks of the turn as JSON. */
  readonly chunks: Iterable<{ readonly body: string }>;
  readonly attachments: readonly ReplyAttachment[];
  readonly workspace: WorkspaceLike;
}

/** Reads the files of an answer: first its own, then those of attachments, in their order. */
export async function readReplyFiles({ chunks, attachments, workspace }: AnswerFiles): Promise<ReplyFile[]> {
  const files = [...findStreamedFiles(chunks)];
  for (const [index, attachment] of attachments.entries()) {
    if (attachment.type !== "file") continue;
    const file = await readAttached(attachment, workspace).catch((error: unknown) => {
      console.error("A file that an action attached could not be read:", error);
      return undefined;
    });
    if (file) files.push({ ...file, attachment: index });
  }
  return takeFitting(files);
}

function* findStreamedFiles(chunks: AnswerFiles["chunks"]): Generator<ReplyFile> {
  let number = 0;
  for (const { body } of chunks) {
    if (!body.includes('"file"')) continue;
    const parsed = parseJson(body);
    if (!parsed.ok || !isObject(parsed.value) || parsed.value["type"] !== "file") continue;
    const { url, mediaType } = parsed.value;
    if (typeof url !== "string" || !url.startsWith("data:")) continue;
    const type = typeof mediaType === "string" ? mediaType : UNKNOWN_TYPE;
    number += 1;
    yield { name: `file-${number}.${extensionOf(type)}`, mediaType: type, bytes: decodeDataUrl(url) };
  }
}

function extensionOf(mediaType: string): string {
  const sub = mediaType.split("/").at(-1)?.split(/[+;]/)[0] ?? "";
  return sub === "jpeg" ? "jpg" : sub.replaceAll(/[^a-z0-9]/gi, "") || "bin";
}

/** Reads `{ type: "file", path }` of the workspace, or `{ type: "file", data }` as base64 or a data URL. */
async function readAttached(attachment: ReplyAttachment, workspace: WorkspaceLike): Promise<ReplyFile | undefined> {
  const { path, data, name: given, mediaType: declared } = attachment;
  const inPath = typeof path === "string" ? path.split("/").at(-1) : undefined;
  const name = typeof given === "string" && given !== "" ? given : (inPath ?? "file");
  const mediaType = typeof declared === "string" ? declared : (typeOfName(name) ?? UNKNOWN_TYPE);
  if (typeof data === "string") {
    return { name, mediaType, bytes: decodeDataUrl(data.startsWith("data:") ? data : `data:;base64,${data}`) };
  }
  const bytes = typeof path === "string" ? await workspace.readFileBytes(path) : null;
  if (!bytes) throw new Error(`There is no file "${String(path)}".`);
  return { name, mediaType, bytes };
}

function takeFitting(files: readonly ReplyFile[]): ReplyFile[] {
  let left = MAX_TOTAL_BYTES;
  const kept = files.filter(({ bytes }, index) => {
    const fits = index < MAX_FILES && bytes.byteLength <= left;
    if (fits) left -= bytes.byteLength;
    return fits;
  });
  if (kept.length < files.length) console.warn(`${files.length - kept.length} files of an answer are not sent.`);
  return kept;
}
