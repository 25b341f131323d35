// What the colleagues of the assistant have in common, and what they may be asked.
import { Think } from "everthink";
import type { Connection } from "everthink/agent";
import { z } from "zod";
import { assistantModel } from "./assistant-model.ts";
import type { Env } from "./env.ts";
import type { Model } from "./language-model.ts";

/** A question is a sentence; what a colleague is asked is shown in its conversation. */
const MAX_QUESTION_LENGTH = 500;

export const questionSchema = z.object({ question: z.string().trim().min(3).max(MAX_QUESTION_LENGTH) });

/** What the schema has checked. */
export function questionIn(input: unknown): string {
  return questionSchema.parse(input).question;
}

export abstract class Colleague extends Think<Env> {
  override getModel(): Model {
    return assistantModel(this.env);
  }

  /** Its own pages need no history of notes. */
  override onConnect(_connection: Connection): void {}
}
