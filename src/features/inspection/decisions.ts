// Why a turn's calls were allowed or refused, and what each section of a prompt is for, in plain sentences. Pure.
import type { CallTimeline, PolicyDecision, TurnTimeline } from "./views.ts";

const PURPOSES: Readonly<Record<string, string>> = {
  channel: "What the channel of this turn asks for, in front of everything else.",
  base: "The class's own instructions: getSystemPrompt().",
  context: "A context block of the session: memory, or documents the model can load.",
  feature: "Added by a feature of the class, for the tools it brings.",
  capabilities: "Which kinds of tools the model has in this turn, written by everthink."
};

export function purposeOf(section: string): string {
  return PURPOSES[section] ?? "";
}

export function policyDecisions({ attempts, grant }: Pick<TurnTimeline, "attempts" | "grant">): PolicyDecision[] {
  const calls = attempts.flatMap(({ steps }) => steps.flatMap((step) => step.calls));
  return calls.map((call) => ({ callId: call.callId, toolName: call.toolName, ...decided(call, grant) }));
}

function decided(
  { approval, status }: CallTimeline,
  grant: TurnTimeline["grant"]
): Pick<PolicyDecision, "decision" | "because"> {
  if (approval) {
    const { approved, by, reason } = approval;
    const said = `${by ?? "a client of this agent"}${reason === null ? "" : `: ${reason}`}`;
    if (approved === null) return { decision: "asked", because: "It needs an approval, and is not decided yet." };
    return approved
      ? { decision: "approved", because: `It needed an approval; approved by ${said}.` }
      : { decision: "denied", because: `It needed an approval; rejected by ${said}.` };
  }
  if (status === "denied") return { decision: "refused", because: "A hook or a permission of the class refused it." };
  if (status === "unknown") {
    return { decision: "unknown", because: "The process died while it ran: whether it had an effect is not known." };
  }
  return { decision: "allowed", because: grantText(grant) };
}

function grantText(grant: TurnTimeline["grant"]): string {
  if (grant === null) return "It needs no approval, and nothing limits this turn.";
  if (!grant.allowed) return `authorizeTurn refused this turn${grant.reason === null ? "." : `: ${grant.reason}`}`;
  return grant.permissions === null
    ? "authorizeTurn granted this turn everything."
    : `authorizeTurn granted: ${grant.permissions.join(", ") || "no permission"}.`;
}
