// What `npm run chaos` plays: killed at every point, the conversation must come out the same.
import { modelWithBoundary, type ChaosRun } from "everthink/testing";
import { questions } from "./questions.ts";
import { Scripted, scriptedModel } from "./scripted.ts";

let boundary = async () => {};

/** It can be killed before every word of its model, and another tab can join there. */
class Disturbed extends Scripted {
  override getModel() {
    return modelWithBoundary(scriptedModel(), () => boundary());
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
