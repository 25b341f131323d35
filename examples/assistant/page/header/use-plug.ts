// The plug of the server, where it has one: `GET /__think/plug` says so, `POST` kills the process for real. Afterwards
// this follows what becomes of the conversation, until the story is told.
import { useCallback, useEffect, useRef, useState } from "react";
import { isOver, observe, pull, type PlugStory, type Sight } from "./plug-story.ts";

const PLUG_PATH = "/__think/plug";
/** A story that is over stays readable for so long. */
const TOLD_FOR_MS = 7_000;
/** A story in which nothing more happens is dropped. */
const PATIENCE_MS = 60_000;
/** A new process is there sooner than a client that is patient with servers would look. */
const LOOK_AGAIN_MS = 150;

export interface Plug {
  readonly story: PlugStory | undefined;
  pullPlug(): void;
}

export function useHasPlug(): boolean {
  const [hasPlug, setHasPlug] = useState(false);
  useEffect(() => {
    const leaving = new AbortController();
    askForPlug(leaving.signal).then(setHasPlug, () => setHasPlug(false));
    return () => leaving.abort();
  }, []);
  return hasPlug;
}

async function askForPlug(signal: AbortSignal): Promise<boolean> {
  const response = await fetch(PLUG_PATH, { signal, headers: { accept: "application/json" } });
  if (!response.ok) return false;
  // A server without a plug may answer every path with its page.
  const answer: unknown = await response.json();
  return typeof answer === "object" && answer !== null && "plug" in answer && answer.plug === true;
}

export function usePlug(sight: Omit<Sight, "at">, retryNow: () => void): Plug {
  const { connection, isBusy, answerLength } = sight;
  const [story, setStory] = useState<PlugStory>();
  const over = story !== undefined && isOver(story);
  const isTelling = story !== undefined && !over;
  useEffect(() => {
    // Setting state after every frame of a stream, for nothing, is what React takes for an endless loop.
    if (!isTelling) return;
    setStory((before) => before && observe(before, { at: performance.now(), connection, isBusy, answerLength }));
  }, [isTelling, connection, isBusy, answerLength]);

  const pulledAt = story?.pulledAt;
  useEffect(() => {
    if (pulledAt === undefined) return;
    const timer = setTimeout(() => setStory(undefined), over ? TOLD_FOR_MS : PATIENCE_MS);
    return () => clearTimeout(timer);
  }, [pulledAt, over]);

  const isAway = story !== undefined && !over && connection !== "open";
  useEffect(() => {
    if (!isAway) return;
    const timer = setInterval(retryNow, LOOK_AGAIN_MS);
    return () => clearInterval(timer);
  }, [isAway, retryNow]);

  const order = useRef<AbortController>(undefined);
  const pullPlug = useCallback(() => {
    setStory(pull({ at: performance.now(), connection, isBusy, answerLength }));
    order.current = new AbortController();
    void killProcess(order.current.signal).then((refusedBecause) => {
      if (refusedBecause !== undefined) setStory((before) => before && { ...before, refusedBecause });
    });
  }, [connection, isBusy, answerLength]);
  // A browser repeats a request whose connection broke. This one must not be: it would kill the new process too.
  const isDone = story?.lostAt !== undefined;
  useEffect(() => {
    if (isDone) order.current?.abort();
  }, [isDone]);
  return { story, pullPlug };
}

/** Why it was refused. A connection that breaks is what was asked for. */
async function killProcess(signal: AbortSignal): Promise<string | undefined> {
  try {
    const { ok, status } = await fetch(PLUG_PATH, { method: "POST", signal });
    return ok || status >= 500 ? undefined : `The server refused to have its plug pulled (${status}).`;
  } catch {
    return undefined;
  }
}
