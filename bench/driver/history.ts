// Gives an object a history. The originals store what a client posts, so a client posts it. The baseline takes only the
// newest message of a request, and everthink believes no client about what an assistant said: their workers take a past
// by HTTP.
import type { ContenderServer } from "../server.ts";
import { Connection, type UserMessage } from "./connection.ts";

/** Messages in one request. Odd, so that the last one, which is answered, is a user's. */
const POSTED_AT_ONCE = 499;
/** About twenty words, the length of a short chat message. */
const SENTENCE = "This is one of many short messages that make up the long past of a conversation, and nothing else. ";

export interface Seed {
  server: ContenderServer;
  name: string;
  /** An even number. */
  messages: number;
  by: "http" | "client";
}

export async function seedHistory(seed: Seed): Promise<void> {
  if (seed.by === "http") await seedByHttp(seed);
  else await seedByClient(seed);
  const stored = (await storedMessages(seed.server, seed.name)).length;
  if (stored < seed.messages) throw new Error(`Only ${stored} of ${seed.messages} seeded messages are stored.`);
}

/** The conversation as a client sees it, to be posted back. */
export async function storedMessages(server: ContenderServer, name: string): Promise<UserMessage[]> {
  const response = await fetch(`${server.url("http", name)}/get-messages`);
  return (await response.json()) as UserMessage[];
}

async function seedByHttp({ server, name, messages }: Seed): Promise<void> {
  for (let stored = 0; stored < messages; stored += POSTED_AT_ONCE) {
    const body = JSON.stringify(pastMessages(stored, Math.min(POSTED_AT_ONCE, messages - stored)));
    const response = await fetch(`${server.url("http", name)}/seed`, { method: "POST", body });
    if (!response.ok) throw new Error(`Seeding answered ${response.status}.`);
  }
}

async function seedByClient({ server, name, messages }: Seed): Promise<void> {
  const connection = await Connection.open(server.url("ws", name));
  try {
    // Each request ends with a user's message and is answered, so it brings one message more than it posts.
    for (let stored = 0; stored < messages; stored += POSTED_AT_ONCE + 1) {
      await connection.post(pastMessages(stored, Math.min(POSTED_AT_ONCE, messages - stored - 1)));
    }
  } finally {
    connection.close();
  }
}

function pastMessages(from: number, count: number): UserMessage[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `past-${from + index}`,
    role: (from + index) % 2 === 0 ? "user" : "assistant",
    // Each is different: two answers with the same words may be taken for one.
    parts: [{ type: "text", text: `${SENTENCE}${from + index}` }]
  }));
}
