import { getAgentByName } from "everthink/agent";
import type { Librarian } from "./librarian.ts";

interface Env {
  Librarian: DurableObjectNamespace<Librarian>;
}

export async function importHandbook(env: Env, text: string) {
  const librarian = await getAgentByName(env.Librarian, "handbook");
  return librarian.learn("Handbook", text);
}
