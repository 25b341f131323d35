// Images and files in what a tool gives the model. The two majors of the SDK spell such a part differently, and each
// warns about, or drops, the other's spelling.
import type { Tool, UIMessage } from "ai";
import { installedSdk } from "./sdk.ts";
import { isToolPart } from "./tool-part.ts";

/** What a tool gives the model of a call. */
export type ToolModelOutput = Awaited<ReturnType<NonNullable<Tool["toModelOutput"]>>>;
type ContentPart = Extract<ToolModelOutput, { type: "content" }>["value"][number];

/** Bytes of an image or a PDF that providers take: 3.5 MiB. */
export const MAX_MEDIA_BYTES = 3_670_016;

/** Newest messages whose images and PDFs the model is shown again; of older ones it reads a note. */
const MEDIA_MESSAGES = 8;

/** The calls of a transcript whose media are too old to be shown again. */
export function callsWithOldMedia(messages: readonly UIMessage[]): Set<string> {
  const parts = messages.slice(0, -MEDIA_MESSAGES).flatMap((message) => message.parts);
  return new Set(parts.flatMap((part) => (isToolPart(part) ? [part.toolCallId] : [])));
}

export interface ToolMedia {
  /** Base64. */
  readonly data: string;
  readonly mediaType: string;
  readonly filename: string;
}

/** A part of a tool's output of the type "content". */
export function toolMediaPart(media: ToolMedia, major: 6 | 7 = installedSdk().major): ContentPart {
  const { data, mediaType, filename } = media;
  if (major === 7) return { type: "file", mediaType, filename, data: { type: "data", data } };
  if (mediaType.startsWith("image/")) return { type: "image-data", data, mediaType };
  return { type: "file-data", data, mediaType, filename };
}
