// What `npm run chaos` plays: killed at every point, the conversation must come out the same.
import Assistant from "../agents/assistant/agent.ts";
import { questions } from "./questions.ts";

export default {
  agent: Assistant,
  async conversation(session: { ask(text: string): Promise<unknown> }) {
    for (const text of questions) await session.ask(text);
  }
};
