import { Think, type ThinkScheduledTasks } from "everthink";
import type { Session } from "everthink/session";
import { offlineModel } from "../../models/offline-model.ts";

export default class Assistant extends Think<Cloudflare.Env> {
  override getModel() {
    return offlineModel(
      [
        {
          match: /remember (?:that )?(.+)/i,
          steps: ([, fact]) => [
            { call: { tool: "set_context", input: { label: "memory", content: `- ${fact}\n`, action: "append" } } },
            { text: "I will remember that." }
          ]
        },
        { match: /briefing/i, steps: () => [{ text: "Good morning. Nothing is planned for today." }] },
        { match: /hello|hi\b/i, steps: () => [{ text: "Hello! Tell me to remember something." }] }
      ],
      this.env.OFFLINE_PACE_MS
    );
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
