// What `npm run chaos` plays: killed at every point, the conversation must come out the same.
import Assistant from "../agents/assistant/agent.ts";
import { questions } from "./questions.ts";

/** The tasks of the clock are no part of the conversation. */
class Undisturbed extends Assistant {
  override getScheduledTasks() {
    return {};
  }
}

export default {
  agent: Undisturbed,
  async conversation(session: { ask(text: string): Promise<unknown> }) {
    for (const text of questions) await session.ask(text);
  }
};
