// What a scripted model was called with.
import type { RecordedCall } from "../../src/testing/index.ts";

/** The whole prompt as JSON. */
export const promptOf = (call: RecordedCall | undefined): string => JSON.stringify(call?.prompt ?? []);

export function systemOf(call: RecordedCall | undefined): string {
  const first = call?.prompt[0];
  return first?.role === "system" ? String(first.content) : "";
}

/** The names of the tools that the model was offered. */
export const toolNames = (call: RecordedCall | undefined): string[] => call?.tools?.map(({ name }) => name) ?? [];
