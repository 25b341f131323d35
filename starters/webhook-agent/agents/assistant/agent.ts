import { Think } from "everthink";
import { offlineModel } from "../../models/offline-model.ts";

export default class Assistant extends Think<Cloudflare.Env> {
  override getModel() {
    return offlineModel(
      [
        { match: /event (\S+): (.+)/i, steps: ([, id, what]) => [{ text: `I have noted event ${id}: ${what}` }] },
        { match: /hello|hi\b/i, steps: () => [{ text: "Hello! Send a webhook to /webhook." }] }
      ],
      this.env.OFFLINE_PACE_MS
    );
  }

  override getSystemPrompt() {
    return "You keep track of events that other systems report.";
  }
}
