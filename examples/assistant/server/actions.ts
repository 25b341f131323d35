// What needs a human. Both actions are given the note's text next to its id: the human who decides sees what it is about, and
// what runs is what was shown.
import { action, type ActionSet } from "everthink";
import { z } from "zod";
import type { PublishedNote } from "../shared/demo.ts";
import type { Note, Notebook } from "./notes.ts";

export interface ActionPorts {
  readonly notes: Notebook;
  /** Puts a note on the board that all conversations share. Repeating it changes nothing. */
  publish(note: Note): Promise<PublishedNote>;
}

const noteSchema = z.object({
  id: z.number().int().describe("The note's id, as take_note or list_notes told it."),
  text: z.string().describe("What the note says, word for word.")
});

export function noteActions({ notes, publish }: ActionPorts): ActionSet {
  return {
    delete_note: action({
      description: "Delete a note for good. A person is asked first.",
      inputSchema: noteSchema,
      approval: true,
      approvalSummary: "Delete this note for good",
      approvalRisk: "medium",
      execute: (note) => {
        notes.delete(note);
        return { deleted: note.id };
      }
    }),
    publish_note: action({
      description: "Publish a note on the board that everybody sees. Somebody has to approve; it may take days.",
      inputSchema: noteSchema,
      kind: "durable-pause",
      approvalSummary: "Publish this note on the board",
      approvalRisk: "low",
      idempotencyKey: ({ input }) => `note:${input.id}`,
      execute: (note) => publish(notes.find(note))
    })
  };
}
