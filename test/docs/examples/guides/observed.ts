import { openai } from "@ai-sdk/openai";
import type { LanguageModel } from "ai";
import { Think, type TurnConfig } from "everthink";
import { diagnosticsObservability, type AgentEvent } from "everthink/observe";

/** What an operator wants to hear of at once. */
const ALARMS = new Set<AgentEvent["type"]>([
  "chat:request:failed",
  "chat:recovery:exhausted",
  "queue:error",
  "schedule:error",
  "storage:row:quarantined"
]);

export class Assistant extends Think {
  override getModel(): LanguageModel {
    return openai("gpt-5");
  }

  override observability = {
    emit(event: AgentEvent) {
      const line = JSON.stringify({ level: ALARMS.has(event.type) ? "error" : "info", ...event });
      if (ALARMS.has(event.type)) console.error(line);
      else console.log(line);
      // Listeners of subscribe() hear it, too.
      diagnosticsObservability.emit(event);
    }
  };

  override beforeTurn(): TurnConfig {
    // Spans of the AI SDK, for whatever OpenTelemetry provider the Worker has registered.
    return { experimental_telemetry: { isEnabled: true, functionId: this.name } };
  }
}
