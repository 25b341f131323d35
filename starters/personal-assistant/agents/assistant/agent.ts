import { Think, type ThinkScheduledTasks } from "everthink";
import type { Session } from "everthink/session";
import { chooseModel } from "../../models/model.ts";
import { plans } from "./plans.ts";

export default class Assistant extends Think<Cloudflare.Env> {
  override getModel() {
    return chooseModel(this.env, plans);
  }

  // What the model writes into "memory" stands in every prompt from then on.
  override configureSession(session: Session) {
    return session
      .withContext("soul", { provider: { get: async () => "You are a personal assistant. Be brief." } })
      .withContext("memory", { description: "What you know about the user", maxTokens: 2000 });
  }

  override getDefaultTimezone() {
    return "Europe/London";
  }

  override getScheduledTasks(): ThinkScheduledTasks {
    return { briefing: { schedule: "every weekday at 09:00", prompt: "Write my briefing.", overlap: "skip" } };
  }
}
