// What happens after the plug was pulled, as seen from here: the connection goes, the process is back, the answer goes
// on. Each moment is seen once and keeps its time. Pure.
import type { ConnectionState } from "everthink/client";

export interface PlugStory {
  readonly pulledAt: number;
  /** An answer was being written. */
  readonly wasAnswering: boolean;
  /** How much of it is there; what was not yet stored is taken back before the answer goes on. */
  readonly answerLength: number;
  readonly lostAt?: number;
  readonly backAt?: number;
  /** The answer grew again, or was found complete. */
  readonly onAt?: number;
  /** The plug could not be pulled. */
  readonly refusedBecause?: string;
}

export interface Sight {
  readonly at: number;
  readonly connection: ConnectionState;
  readonly isBusy: boolean;
  readonly answerLength: number;
}

export function pull({ at, isBusy, answerLength }: Sight): PlugStory {
  return { pulledAt: at, wasAnswering: isBusy, answerLength };
}

/** The same object if there is nothing new. */
export function observe(story: PlugStory, sight: Sight): PlugStory {
  const { at, connection, isBusy, answerLength } = sight;
  const isOpen = connection === "open";
  if (story.lostAt === undefined) return isOpen ? story : { ...story, lostAt: at, answerLength };
  if (story.backAt === undefined) return isOpen ? { ...story, backAt: at } : story;
  if (!story.wasAnswering || story.onAt !== undefined || !isOpen) return story;
  if (answerLength > story.answerLength || !isBusy) return { ...story, onAt: at };
  return answerLength < story.answerLength ? { ...story, answerLength } : story;
}

export function isOver(story: PlugStory): boolean {
  if (story.refusedBecause !== undefined) return true;
  return story.wasAnswering ? story.onAt !== undefined : story.backAt !== undefined;
}

export interface PlugStep {
  readonly label: string;
  /** Milliseconds since the plug was pulled; undefined while it is awaited. */
  readonly afterMs: number | undefined;
}

export function stepsOf(story: PlugStory): PlugStep[] {
  const step = (label: string, at: number | undefined): PlugStep => ({
    label,
    afterMs: at === undefined ? undefined : at - story.pulledAt
  });
  const last = story.wasAnswering ? step("Answer goes on", story.onAt) : step("Nothing was lost", story.backAt);
  return [step("Connection lost", story.lostAt), step("Process restarted", story.backAt), last];
}
