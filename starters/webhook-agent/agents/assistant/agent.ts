import { Think } from "everthink";
import { chooseModel } from "../../models/model.ts";
import { plans } from "./plans.ts";

export default class Assistant extends Think<Cloudflare.Env> {
  override getModel() {
    return chooseModel(this.env, plans);
  }

  override getSystemPrompt() {
    return "You keep track of events that other systems report.";
  }
}
