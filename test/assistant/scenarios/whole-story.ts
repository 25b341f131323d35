// The long story as it is streamed without interruption. Played once for each server.
import { type ExampleServer, storedText } from "../example-server.ts";
import type { Stage } from "../scenario.ts";
import { textIn } from "../visitor.ts";

export const STORY = "Tell me a long story about a lighthouse keeper.";

export interface Story {
  /** As the model wrote it. */
  readonly stored: string;
  /** As it is shown. */
  readonly shown: string;
}

const stories = new WeakMap<ExampleServer, Promise<Story>>();

export function wholeStory(stage: Stage): Promise<Story> {
  const known = stories.get(stage.server) ?? playStory(stage);
  stories.set(stage.server, known);
  return known;
}

async function playStory(stage: Stage): Promise<Story> {
  // Not a new one by its button: that would be the one the visitor has not used yet.
  const listener = await stage.anotherTab(`/c/${crypto.randomUUID()}`);
  const answer = await listener.askAndWait(STORY);
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
