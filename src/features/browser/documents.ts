// A document on its way into the browser: read to a limit and handed on with a policy that the browser keeps for every script of
// it, also in frames that it makes. So a page has no windows, dialogs, downloads, workers, sockets or plug-ins, and everything
// that it still can ask for comes by as a request.
import { decodeBase64, encodeBase64, encodeText, joinBytes } from "../../util/bytes.ts";
import type { CdpConnection } from "./cdp.ts";

export const PAGE_POLICY = [
  "sandbox allow-scripts allow-same-origin allow-forms",
  "connect-src http: https:",
  "frame-src http: https: data: blob: about:",
  "worker-src 'none'",
  "object-src 'none'"
].join("; ");

/** WebRTC is in no policy. Run before the scripts of each document, and of each frame that a script makes. */
export const PAGE_START =
  "for (const name of ['RTCPeerConnection', 'webkitRTCPeerConnection', 'RTCDataChannel']) delete globalThis[name];";

/** Bytes of one document. */
const MAX_DOCUMENT_BYTES = 5 * 1024 * 1024;
const CHUNK_BYTES = 256 * 1024;

/** What a browser shows as a page. Anything else it would save, or give to a plug-in. */
const SHOWN = /^(?:text\/(?:html|plain|markdown|csv|xml)|application\/(?:xhtml\+xml|xml|json|[\w.-]+\+json)|image\/)/;

export interface Header {
  readonly name: string;
  readonly value: string;
}

/** The type that makes it a file; undefined: it is a page. */
export function fileTypeOf(headers: readonly Header[]): string | undefined {
  const valueOf = (wanted: string) => headers.find(({ name }) => name.toLowerCase() === wanted)?.value ?? "";
  const type = (valueOf("content-type") || "text/html").toLowerCase();
  const isFile = /^\s*attachment/i.test(valueOf("content-disposition")) || !SHOWN.test(type);
  return isFile ? type.replaceAll(/[^\w/+.-].*/g, "").slice(0, 60) || "unknown" : undefined;
}

export interface PausedDocument {
  readonly requestId: string;
  readonly status: number;
  readonly headers: readonly Header[];
  readonly sessionId: string | undefined;
}

/** Hands it on. False: only its beginning, because it is longer than what is read of one. */
export async function passDocument(
  cdp: CdpConnection,
  { requestId, status, headers, sessionId }: PausedDocument,
  deadline: number
): Promise<boolean> {
  const { bytes, isWhole } = await readBody(cdp, { requestId, sessionId }, deadline);
  const kept = headers.filter(({ name }) => !/^(?:content-(?:encoding|length)|transfer-encoding)$/i.test(name));
  const policy = { name: "content-security-policy", value: PAGE_POLICY };
  await cdp.send(
    "Fetch.fulfillRequest",
    { requestId, responseCode: status, responseHeaders: [...kept, policy], body: encodeBase64(bytes) },
    sessionId
  );
  return isWhole;
}

async function readBody(
  cdp: CdpConnection,
  { requestId, sessionId }: Pick<PausedDocument, "requestId" | "sessionId">,
  deadline: number
): Promise<{ bytes: Uint8Array; isWhole: boolean }> {
  const { stream: handle } = await cdp.send("Fetch.takeResponseBodyAsStream", { requestId }, sessionId);
  const parts: Uint8Array[] = [];
  let size = 0;
  let isWhole = false;
  while (!isWhole && size < MAX_DOCUMENT_BYTES && Date.now() < deadline) {
    const read = cdp.send("IO.read", { handle, size: CHUNK_BYTES }, sessionId);
    const answer = await beforeDeadline(read, deadline);
    if (!answer) break;
    const data = typeof answer["data"] === "string" ? answer["data"] : "";
    const part = answer["base64Encoded"] === true ? decodeBase64(data) : encodeText(data);
    parts.push(part);
    size += part.byteLength;
    isWhole = answer["eof"] === true;
  }
  // The rest is not wanted, whatever becomes of it.
  cdp.send("IO.close", { handle }, sessionId).catch(() => undefined);
  return { bytes: joinBytes(parts, size).subarray(0, MAX_DOCUMENT_BYTES), isWhole };
}

/** A server may stop in the middle of a page. */
async function beforeDeadline<T>(work: Promise<T>, deadline: number): Promise<T | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), Math.max(0, deadline - Date.now()));
  });
  work.catch(() => undefined);
  return await Promise.race([work, late]).finally(() => clearTimeout(timer));
}
