import type { LanguageModel } from "ai";
import { reply, scriptedModel, text } from "everthink/testing";
import { agent } from "everthink/framework";

export default agent<Env>({
  model: (env) => createModel(env),
  prompt: "You help with cooking.",
  maxSteps: 5,
  beforeTurn: (context, self) => void console.log(self.name, context.messages.length),
  callables: { rename: (self, title: string) => self.setState({ title }) }
});

export interface Env {
  DISH: string;
}

function createModel(env: Env): LanguageModel {
  return scriptedModel([reply(text(`Cook ${env.DISH}.`))], { onExhausted: "repeat-last" });
}
