// Where system text may stand. Providers take it in front only, and ai 7 refuses it among the messages; a stored or
// hook-made system message therefore joins the system prompt, in order, with its provider options. Pure.
import type { ModelMessage, SystemModelMessage } from "ai";
import type { SystemPrompt } from "./settings.ts";

export interface SystemAndMessages {
  /** Undefined: there is no system text at all. */
  readonly system: SystemPrompt | undefined;
  readonly messages: ModelMessage[];
}

/** Moves every system-role message into the system prompt. Returns its arguments when there is none to move. */
export function liftSystemMessages(system: SystemPrompt | undefined, messages: ModelMessage[]): SystemAndMessages {
  const lifted = messages.filter((message) => message.role === "system");
  if (lifted.length === 0) return { system: system === "" ? undefined : system, messages };
  return {
    system: [...asSystemMessages(system), ...lifted],
    messages: messages.filter((message) => message.role !== "system")
  };
}

function asSystemMessages(system: SystemPrompt | undefined): SystemModelMessage[] {
  if (system === undefined || system === "") return [];
  if (typeof system === "string") return [{ role: "system", content: system }];
  return Array.isArray(system) ? system : [system];
}
