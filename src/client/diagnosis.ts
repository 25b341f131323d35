// Why a connection cannot be opened. A page gets no reason for a failed handshake, so the agent's messages are asked for over
// HTTP at the same address: the answer has a status and the server's words. Never rejects.
import type { Timers } from "./timers.ts";

/** A server that takes longer has not answered. */
export const DIAGNOSIS_TIMEOUT_MS = 10_000;
/** Characters of the server's answer that are shown. */
export const MAX_WORDS = 200;

export interface Diagnosis {
  /** A text for the user. */
  readonly problem: string;
  /** Trying again will not help. */
  readonly isFinal: boolean;
}

export interface DiagnosisInit {
  /** Where the agent's stored messages are. */
  url(): string | Promise<string>;
  fetch(url: string, init?: RequestInit): Promise<Response>;
  /** Where the page came from; undefined outside a page. */
  readonly pageOrigin: string | undefined;
  readonly timers: Timers;
}

export function diagnose(init: DiagnosisInit): Promise<Diagnosis> {
  const { promise, resolve } = Promise.withResolvers<Diagnosis>();
  const cancel = init.timers.after(DIAGNOSIS_TIMEOUT_MS, () => resolve(passing("The server does not answer.")));
  void ask(init).then(resolve, (error: unknown) => resolve(passing(`The server cannot be reached${causeOf(error)}.`)));
  return promise.finally(cancel);
}

async function ask({ url, fetch, pageOrigin }: DiagnosisInit): Promise<Diagnosis> {
  const address = await url();
  try {
    return await answerOf(await fetch(address));
  } catch (error) {
    if (pageOrigin === undefined || new URL(address).origin === pageOrigin) throw error;
    // The browser hides answers that are not meant for pages of other origins, but not that there is one.
    await fetch(address, { mode: "no-cors" });
    return passing(`The server can be reached, but does not let pages of ${pageOrigin} in. See allowedOrigins.`);
  }
}

async function answerOf(response: Response): Promise<Diagnosis> {
  const { status, statusText } = response;
  if (response.ok) {
    // The messages themselves are not needed.
    void response.body?.cancel();
    return passing("The server answers over HTTP, but opens no WebSocket at this address.");
  }
  const words = wordsOf(await response.text()) || statusText;
  return { problem: `The server refused the connection: ${status} ${words}`.trimEnd(), isFinal: isFinal(status) };
}

/** Answers that depend on the moment and not on what was asked. */
const PASSING = new Set([408, 421, 425, 429]);

function isFinal(status: number): boolean {
  return status >= 400 && status < 500 && !PASSING.has(status);
}

/** A page says nothing that fits into a line. */
function wordsOf(body: string): string {
  const text = body.trim().replaceAll(/\s+/g, " ");
  return text.startsWith("<") ? "" : text.slice(0, MAX_WORDS);
}

function passing(problem: string): Diagnosis {
  return { problem, isFinal: false };
}

/** Node puts the reason into the cause; browsers give none. */
function causeOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && "code" in cause && typeof cause.code === "string" ? ` (${cause.code})` : "";
}
