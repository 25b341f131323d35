// Images and files in what a tool gives the model. The two majors of the SDK spell such a part differently, and each
// warns about, or drops, the other's spelling.
import type { Tool } from "ai";
import { installedSdk } from "./sdk.ts";

type ModelOutput = Awaited<ReturnType<NonNullable<Tool["toModelOutput"]>>>;
type ContentPart = Extract<ModelOutput, { type: "content" }>["value"][number];

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
