// What a conversation tells the list of its person.
import { getAgentByName } from "everthink/agent";

interface Asked {
  readonly role: string;
  readonly parts: readonly { readonly type: string; readonly text?: string }[];
}

/** What a conversation was asked first. */
export function firstQuestion(messages: readonly Asked[]): string {
  const question = messages.find(({ role }) => role === "user");
  return question?.parts.map(({ text = "" }) => text).join(" ") ?? "";
}

/** Tells the list of the person that this conversation was asked something. */
export async function listConversation(env: Cloudflare.Env, name: string, question: string): Promise<void> {
  const [person = "", id] = name.split(":");
  // An agent that was opened by a person's name alone, such as with `npm run chat assistant ada`, is in no list.
  if (id === undefined) return;
  const list = await getAgentByName(env.ThinkAgent_Conversations, person);
  await list.touch(id, question);
}
