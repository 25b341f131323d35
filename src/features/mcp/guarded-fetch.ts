// The only way out to an MCP server and to what it names. Every request passes the URL guard, redirects come back to the
// caller as responses (the MCP client follows those within one origin, through here again), and answers are bounded.
import { McpRequestError } from "./errors.ts";
import type { Fetch } from "../../util/guarded-request.ts";
import { assertHop, type AddressPolicy } from "./url-guard.ts";

/** The most bytes of one JSON answer, or of one event of a stream. Past it the request fails. */
export const MAX_ANSWER_BYTES = 8 * 1024 * 1024;

export function guardedFetch(fetch: Fetch, server: URL, policy?: AddressPolicy): Fetch {
  return async (target, init) => {
    const url = new URL(target);
    assertHop(url, server, policy);
    const response = await fetch(url, { ...init, redirect: "manual" });
    return withBoundedBody(response);
  };
}

function withBoundedBody(response: Response): Response {
  if (response.body === null) return response;
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  let pending = 0;
  const bound = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      const end = isStream ? endOfLastEvent(chunk) : 0;
      pending = end > 0 ? chunk.byteLength - end : pending + chunk.byteLength;
      if (pending > MAX_ANSWER_BYTES) {
        throw new McpRequestError(`The server's answer is larger than ${MAX_ANSWER_BYTES} bytes.`);
      }
      controller.enqueue(chunk);
    }
  });
  return new Response(response.body.pipeThrough(bound), response);
}

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;

/** Where the chunk's last finished event ends: after an empty line. 0 if no event ends in it. */
function endOfLastEvent(chunk: Uint8Array): number {
  for (let at = chunk.byteLength - 1; at > 0; at -= 1) {
    const [byte, before] = [chunk[at], chunk[at - 1]];
    const endsLine = byte === LINE_FEED || byte === CARRIAGE_RETURN;
    if (!endsLine || (before !== LINE_FEED && before !== CARRIAGE_RETURN)) continue;
    // A carriage return and a line feed are one line end; an empty line takes two.
    const isOneLineEnd = byte === LINE_FEED && before === CARRIAGE_RETURN;
    if (!isOneLineEnd || chunk[at - 2] === LINE_FEED) return at + 1;
  }
  return 0;
}
