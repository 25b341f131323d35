import { Think } from "everthink";
// The folder skills/ beside this file.
import skills from "everthink:skills";
import { chooseModel } from "../../models/model.ts";
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
}
