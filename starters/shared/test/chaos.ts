// What `npm run chaos` plays: killed at every point, the conversation must come out the same.
import { modelWithBoundary, type ChaosRun } from "everthink/testing";
import Assistant from "../agents/assistant/agent.ts";
import { questions } from "./questions.ts";

let boundary = async () => {};

/** The same agent; it can be killed before every word of its model, and another tab can join there. */
class Disturbed extends Assistant {
  override getModel() {
    return modelWithBoundary(super.getModel(), () => boundary());
  }
}

export default {
  agent: Disturbed,
  begin(run: ChaosRun) {
    boundary = run.boundary;
  },
  async conversation(session: { ask(text: string): Promise<unknown> }) {
    for (const text of questions) await session.ask(text);
  }
};
