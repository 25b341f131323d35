import { Think } from "everthink";
import { offlineModel } from "../../models/offline-model.ts";

export default class Assistant extends Think<Cloudflare.Env> {
  override getModel() {
    return offlineModel(
      [
        {
          match: /hello|hi\b/i,
          steps: () => [{ text: "Hello! I am your agent, and I live in agents/assistant/agent.ts." }]
        },
        {
          match: /what can you do/i,
          steps: () => [{ text: "I answer, I keep our conversation through crashes, and I have a workspace of files." }]
        }
      ],
      this.env.OFFLINE_PACE_MS
    );
  }

  override getSystemPrompt() {
    return "You are a friendly assistant. Be brief.";
  }
}
