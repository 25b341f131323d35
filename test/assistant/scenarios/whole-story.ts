// The long story as it is told without interruption. Told once for each server.
import { type ExampleServer, storedText } from "../example-server.ts";
import type { Stage } from "../scenario.ts";
import { textIn } from "../visitor.ts";

export const STORY = "Tell me a long story about a lighthouse keeper.";

export interface Told {
  /** As the model wrote it. */
  readonly stored: string;
  /** As it is shown. */
  readonly shown: string;
}

const told = new WeakMap<ExampleServer, Promise<Told>>();

export function wholeStory(stage: Stage): Promise<Told> {
  const known = told.get(stage.server) ?? tell(stage);
  told.set(stage.server, known);
  return known;
}

async function tell(stage: Stage): Promise<Told> {
  // Not a new one by its button: that would be the one the visitor has not used yet.
  const listener = await stage.anotherTab(`/c/${crypto.randomUUID()}`);
  const answer = await listener.askAndHear(STORY);
  const shown = await textIn(answer);
  const stored = await storedAnswers(stage.server, listener.conversationId);
  await listener.page.close();
  return { shown, stored: stored.join() };
}

/** The words of every stored answer. */
export async function storedAnswers(server: ExampleServer, conversationId: string): Promise<string[]> {
  const messages = await server.storedMessages(conversationId);
  return messages.filter(({ role }) => role === "assistant").map(storedText);
}
