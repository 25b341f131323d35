import { Think, type TurnContext } from "everthink";
// The folder skills/ beside this file.
import skills from "everthink:skills";
import { chooseModel } from "../../models/model.ts";
import { firstQuestion, listConversation } from "./listing.ts";
import { plans } from "./plans.ts";

// Every agent has a workspace of files, with tools to read, write, edit, list and search them.
export default class Assistant extends Think<Cloudflare.Env> {
  override maxSteps = 20;

  override getModel() {
    return chooseModel(this.env, plans);
  }

  override getSystemPrompt() {
    return "You are a careful programmer. Read a file before you change it, and keep changes small.";
  }

  override getSkills() {
    return [skills];
  }

  // The list of the person's conversations is told, from the queue: a list that cannot be reached now costs the answer nothing.
  override async beforeTurn({ continuation }: TurnContext) {
    if (!continuation && this.name.includes(":")) await this.queue("announce", firstQuestion(this.messages));
  }

  async announce(question: string) {
    await listConversation(this.env, this.name, question);
  }
}
