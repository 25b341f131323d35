// What the model sees of what a tool of the web has stored: texts between marks, images as they are, and about both our own
// words. An output may be an old one, or one that was cut.
import { MAX_MEDIA_BYTES, toolMediaPart, type ToolModelOutput } from "../../model/tool-media.ts";
import { encodeBase64 } from "../../util/bytes.ts";
import { formatSize } from "../../util/format-size.ts";
import { isObject } from "../../util/json.ts";
import type { PageFiles } from "./page-files.ts";
import { markUntrusted } from "./untrusted.ts";

/** Without files: no images. */
export async function viewForModel(files: PageFiles | undefined, output: unknown): Promise<ToolModelOutput> {
  if (!isObject(output)) return { type: "text" as const, value: markUntrusted("fetch_url", String(output)) };
  if (typeof output["error"] === "string") return { type: "error-text" as const, value: output["error"] };
  const url = String(output["url"]);
  if (files && output["kind"] === "image" && typeof output["path"] === "string") return await viewImage(files, output);
  if (typeof output["content"] !== "string")
    return { type: "text" as const, value: `${aboutOf(output)}\n${markUntrusted(url, "(not shown)")}` };
  return { type: "text" as const, value: `${aboutOf(output)}\n${markUntrusted(url, textOf(output))}` };
}

function textOf({ title, content }: Readonly<Record<string, unknown>>): string {
  return typeof title === "string" ? `Title: ${title}\n\n${String(content)}` : String(content);
}

/** Of our own words, and of the server's only what cannot be a sentence. */
function aboutOf(output: Readonly<Record<string, unknown>>): string {
  const { mediaType, sizeBytes, totalChars, path, note, content } = output;
  const size = typeof sizeBytes === "number" ? `, ${formatSize(sizeBytes)}` : "";
  const about = [
    `${String(mediaType)
      .replaceAll(/[^\w/+.-]/g, "")
      .slice(0, 100)}${size}.`
  ];
  if (typeof note === "string") about.push(`${note}.`);
  if (typeof totalChars === "number" && typeof content === "string") {
    const rest =
      typeof path === "string" ? `the whole is the file ${path}; read it with read` : "the rest was not kept";
    about.push(`The first ${content.length} of ${totalChars} characters; ${rest}.`);
  } else if (typeof path === "string") about.push(`It is the file ${path}.`);
  else if (content === undefined) about.push("It was not kept: this agent has no files.");
  return about.join(" ");
}

async function viewImage(files: PageFiles, output: Readonly<Record<string, unknown>>) {
  const path = String(output["path"]);
  const mediaType = String(output["mediaType"]);
  const text = aboutOf(output);
  const bytes = await files()?.readFileBytes(path);
  if (!bytes) return { type: "text" as const, value: `${text} The file was deleted.` };
  if (bytes.byteLength > MAX_MEDIA_BYTES)
    return {
      type: "text" as const,
      value: `${text} It is larger than the ${formatSize(MAX_MEDIA_BYTES)} that can be shown.`
    };
  const media = { data: encodeBase64(bytes), mediaType, filename: path.slice(path.lastIndexOf("/") + 1) };
  const words = `${text} What is written in the image comes from the web.`;
  return { type: "content" as const, value: [{ type: "text" as const, text: words }, toolMediaPart(media)] };
}
