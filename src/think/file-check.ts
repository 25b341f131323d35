// What is wrong with a file that somebody attaches, said before it is stored: no provider could read it, and it would be
// part of every later prompt. Whether a given model can read a file is not known here.
import { isObject } from "../util/json.ts";
import { AttachmentError } from "./errors.ts";

/** `image/png`, also with a wildcard (`image/*`) or parameters. */
const MEDIA_TYPE = /^[\w!#$&^.+-]+\/([\w!#$&^.+-]+|\*)(\s*;.*)?$/;
/** Addresses that mean something only in the program that made them. */
const LOCAL_SCHEMES: readonly string[] = ["blob:", "file:", "filesystem:", "javascript:", "about:"];
const NOT_BASE64 = /[^A-Za-z0-9+/_=\s-]/;
/** More of a name is not repeated. */
const MAX_NAME_CHARS = 100;

/** Throws AttachmentError for the first file that cannot be accepted. Messages of people only: others are the server's. */
export function checkFiles(messages: readonly { readonly role: string; readonly parts: readonly unknown[] }[]): void {
  for (const { role, parts } of messages) {
    if (role !== "user") continue;
    for (const part of parts) {
      if (!isObject(part) || part["type"] !== "file") continue;
      const problem = fileProblem(part);
      if (problem !== undefined) throw new AttachmentError(nameOf(part), problem);
    }
  }
}

function nameOf({ filename }: Record<string, unknown>): string | undefined {
  return typeof filename === "string" && filename !== "" ? filename.slice(0, MAX_NAME_CHARS) : undefined;
}

function fileProblem({ mediaType, url, providerReference }: Record<string, unknown>): string | undefined {
  if (typeof mediaType !== "string" || mediaType === "") return "it has no media type";
  if (!MEDIA_TYPE.test(mediaType)) return `"${mediaType.slice(0, MAX_NAME_CHARS)}" is not a media type`;
  // The provider has it already.
  if (isObject(providerReference)) return undefined;
  if (typeof url !== "string" || url === "") return "it has neither data nor an address";
  if (url.startsWith("data:")) return dataProblem(url);
  if (!URL.canParse(url)) return "its address cannot be read";
  const { protocol } = new URL(url);
  return LOCAL_SCHEMES.includes(protocol)
    ? `an address that begins with ${protocol} cannot be read by others`
    : undefined;
}

function dataProblem(url: string): string | undefined {
  const comma = url.indexOf(",");
  const data = comma < 0 ? "" : url.slice(comma + 1);
  if (data.trim() === "") return "it is empty";
  if (!url.slice(0, comma).toLowerCase().endsWith(";base64") || data.includes("%")) return undefined;
  if (NOT_BASE64.test(data)) return "its data is not base64";
  return /^[=\s]/.test(data) ? "it is empty" : undefined;
}
