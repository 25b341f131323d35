import { Think, type TurnContext } from "everthink";
import { chooseModel } from "../../models/model.ts";
import { firstQuestion, listConversation } from "./listing.ts";
import { plans } from "./plans.ts";

export default class Assistant extends Think<Cloudflare.Env> {
  override getModel() {
    return chooseModel(this.env, plans);
  }

  override getSystemPrompt() {
    return "You are a friendly assistant. Be brief.";
  }

  // The list of the person's conversations is told, from the queue: a list that cannot be reached now costs the answer nothing.
  override async beforeTurn({ continuation }: TurnContext) {
    if (!continuation && this.name.includes(":")) await this.queue("announce", firstQuestion(this.messages));
  }

  async announce(question: string) {
    await listConversation(this.env, this.name, question);
  }
}
