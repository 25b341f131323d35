// Programs that the model writes, and what they may call: arithmetic and notes at once, the board only when a person has
// agreed. They run where a loader is bound.
import { tool, type ToolSet } from "ai";
import { createExecuteRuntime, type ExecuteRuntime } from "everthink/tools/execute";
import { z } from "zod";
import type { CalledFromCode, PublishedNote } from "../shared/demo.ts";
import type { Note, Notebook } from "./notes.ts";

export interface CodePorts {
  readonly notes: Notebook;
  /** Of these, code may call the ones it is offered below. */
  readonly tools: ToolSet;
  publish(note: Note): Promise<PublishedNote>;
}

/** What a person is asked before code may go on. */
export const PUBLISH_SUMMARY = "Publish this note on the board";

export function codeRuntime(
  agent: object,
  { notes, tools, publish }: CodePorts
): ReturnType<typeof createExecuteRuntime> {
  const { calculate, take_note, list_notes } = tools;
  const publishNote = tool({
    description: "Publishes a note on the board that everybody sees. A person is asked first.",
    inputSchema: z.object({ id: z.number().int(), text: z.string() }),
    needsApproval: true,
    execute: (note) => publish(notes.find(note))
  });
  const offered = { calculate, take_note, list_notes, publish_note: publishNote } as ToolSet;
  return createExecuteRuntime(agent, { tools: offered });
}

/** The calls of a run, in their order, without what went in and came out. */
export function calledFrom(runtime: ExecuteRuntime | undefined, executionId: string): CalledFromCode[] {
  const run = runtime?.executions().find(({ id }) => id === executionId);
  return (run?.log ?? []).map(({ connector, method, state }) => ({ name: `${connector}.${method}`, state }));
}
