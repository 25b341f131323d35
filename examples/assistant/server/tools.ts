// The tools of the demo. All of them really do what they say; what only reads or can be repeated is a plain tool, what
// needs a human is in actions.ts.
import { tool, type ToolSet } from "ai";
import { z } from "zod";
import { readClock } from "./clock.ts";
import { calculate, MAX_EXPRESSION_LENGTH } from "./expression.ts";
import { MAX_NOTE_LENGTH, type Notebook } from "./notes.ts";
import { countPrimes, MAX_BELOW } from "./primes.ts";

export interface ToolPorts {
  readonly notes: Notebook;
  readonly now: () => number;
  /** Between two reports of progress. */
  readonly pause: (signal: AbortSignal | undefined) => Promise<void>;
}

export function demoTools({ notes, now, pause }: ToolPorts): ToolSet {
  return {
    now: tool({
      description: "The date and time now, in UTC or in a time zone.",
      inputSchema: z.object({ timeZone: z.string().optional().describe('An IANA name, such as "Europe/Oslo".') }),
      execute: ({ timeZone }) => readClock(now(), timeZone)
    }),
    calculate: tool({
      description: "The value of an arithmetic expression with + - * / % ^ and parentheses.",
      inputSchema: z.object({ expression: z.string().max(MAX_EXPRESSION_LENGTH) }),
      execute: ({ expression }) => ({ expression, value: calculate(expression) })
    }),
    take_note: tool({
      description: "Keeps a note in this conversation and returns its id. A text that is noted already keeps its id.",
      inputSchema: z.object({ text: z.string().trim().min(1).max(MAX_NOTE_LENGTH) }),
      execute: ({ text }) => notes.take(text)
    }),
    list_notes: tool({
      description: "All notes of this conversation with their ids.",
      inputSchema: z.object({}),
      execute: () => ({ notes: notes.list() })
    }),
    count_primes: tool({
      description: "Counts the primes below a number, and reports its progress.",
      inputSchema: z.object({ below: z.number().int().min(2).max(MAX_BELOW) }),
      // Each value it yields is shown at once; the last one is the result.
      execute: async function* ({ below }, { abortSignal }) {
        for (const progress of countPrimes(below)) {
          yield progress;
          if ("progress" in progress) await pause(abortSignal);
        }
      }
    })
  };
}
