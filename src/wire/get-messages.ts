// `GET …/get-messages`: the transcript over HTTP, as clients fetch it before they connect. Access is decided where the
// request is routed.
import type { UIMessage } from "ai";

const PATH_END = "/get-messages";

/** The agent may be mounted anywhere, so only the end of the path counts. */
export function isGetMessagesRequest(request: Request): boolean {
  return new URL(request.url).pathname.endsWith(PATH_END);
}

/**
 * The messages of the active branch, oldest first. `?limit=n` keeps the newest n of them, `?before=id` only those in
 * front of that message; without either it is all of them.
 */
export function getMessagesResponse(request: Request, transcript: () => readonly UIMessage[]): Response {
  if (request.method !== "GET" && request.method !== "HEAD") {
    return plain("Method not allowed", { status: 405, headers: { Allow: "GET, HEAD" } });
  }
  const { searchParams } = new URL(request.url);
  const limit = readLimit(searchParams.get("limit"));
  if (limit === null) return plain("limit must be a positive whole number", { status: 400 });
  const page = pageOf(transcript(), searchParams.get("before"), limit);
  if (!page) return plain("before names no message of this conversation", { status: 400 });
  const headers = { "Content-Type": "application/json", "Cache-Control": "no-store" };
  return new Response(request.method === "HEAD" ? null : JSON.stringify(page), { headers });
}

function readLimit(text: string | null): number | undefined | null {
  if (text === null) return undefined;
  const limit = Number(text);
  return text !== "" && Number.isSafeInteger(limit) && limit > 0 ? limit : null;
}

function pageOf(
  messages: readonly UIMessage[],
  before: string | null,
  limit: number | undefined
): readonly UIMessage[] | undefined {
  const end = before === null ? messages.length : messages.findIndex(({ id }) => id === before);
  if (end < 0) return undefined;
  return messages.slice(limit === undefined ? 0 : Math.max(0, end - limit), end);
}

function plain(text: string, init: { status: number; headers?: Record<string, string> }): Response {
  return new Response(text, { status: init.status, headers: { ...init.headers, "Cache-Control": "no-store" } });
}
