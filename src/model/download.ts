// Files of the conversation that have an address and that the provider does not fetch by itself: the SDK has them fetched
// here, from where the agent runs. A client chooses these addresses, so each of them, and each that a redirect names, is
// checked before it is asked; size and time are bounded. The answer goes to the model, and so to the client.
import { requestGuarded } from "../util/guarded-request.ts";
import { errorMessage, ThinkError } from "../util/errors.ts";
import { modelErrors } from "./errors.ts";

/** Bytes of one file. */
export const MAX_DOWNLOAD_BYTES = 25_000_000;
/** Bytes of all files of one step, which are in memory at once. */
export const MAX_STEP_DOWNLOAD_BYTES = 50_000_000;
/** From the first request for a file to its last byte, redirects included. */
export const DOWNLOAD_TIMEOUT_MS = 30_000;
export const MAX_DOWNLOAD_REDIRECTS = 5;

export interface DownloadRules {
  /** Names of a private network may be asked, where the operator lets the agent reach it. Addresses in numbers may not. */
  readonly allowsPrivateNames: boolean;
  readonly signal: AbortSignal;
}

/** As both majors of the SDK ask for files. */
export interface RequestedDownload {
  readonly url: URL;
  readonly isUrlSupportedByModel: boolean;
}

export interface DownloadedFile {
  readonly data: Uint8Array;
  readonly mediaType: string | undefined;
}

/** The SDK's `experimental_download`. Null: the provider fetches the file itself. Rejects with FileDownloadError. */
export function downloadsWith(
  rules: DownloadRules
): (requests: readonly RequestedDownload[]) => Promise<(DownloadedFile | null)[]> {
  return async (requests) => {
    const budget = { leftBytes: MAX_STEP_DOWNLOAD_BYTES };
    return Promise.all(
      requests.map(({ url, isUrlSupportedByModel }) => (isUrlSupportedByModel ? null : download(url, rules, budget)))
    );
  };
}

interface Budget {
  leftBytes: number;
}

async function download(url: URL, rules: DownloadRules, budget: Budget): Promise<DownloadedFile> {
  const timeout = AbortSignal.timeout(DOWNLOAD_TIMEOUT_MS);
  const signal = AbortSignal.any([rules.signal, timeout]);
  try {
    const response = await request(url, { ...rules, signal });
    return { data: await read(response, url, budget), mediaType: response.headers.get("content-type") ?? undefined };
  } catch (error) {
    rules.signal.throwIfAborted();
    if (error instanceof ThinkError) throw error;
    const reason = timeout.aborted ? `it took longer than ${DOWNLOAD_TIMEOUT_MS / 1_000} s` : errorMessage(error);
    throw modelErrors.FileDownloadError(url.origin, reason, error);
  }
}

async function request(url: URL, { allowsPrivateNames, signal }: DownloadRules): Promise<Response> {
  const asked = await requestGuarded(
    url,
    { signal, headers: { "user-agent": "everthink" } },
    {
      fetch,
      redirects: MAX_DOWNLOAD_REDIRECTS,
      opens: (inside) => inside === "name" && allowsPrivateNames,
      refused: ({ origin }, reason) => modelErrors.FileDownloadError(origin, reason)
    }
  );
  if (asked.response.ok) return asked.response;
  await asked.response.body?.cancel();
  throw modelErrors.FileDownloadError(asked.url.origin, `it was answered with ${asked.response.status}`);
}

async function read(response: Response, url: URL, budget: Budget): Promise<Uint8Array> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  // Leaving the loop cancels the body.
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array<ArrayBuffer>>) {
    size += chunk.byteLength;
    budget.leftBytes -= chunk.byteLength;
    if (size > MAX_DOWNLOAD_BYTES) {
      throw modelErrors.FileDownloadError(url.origin, `it is larger than ${MAX_DOWNLOAD_BYTES} bytes`);
    }
    if (budget.leftBytes < 0) {
      const reason = `the files of this step are larger than ${MAX_STEP_DOWNLOAD_BYTES} bytes together`;
      throw modelErrors.FileDownloadError(url.origin, reason);
    }
    chunks.push(chunk);
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}
