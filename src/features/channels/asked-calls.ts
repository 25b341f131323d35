// Calls that wait for approval inside an answer (`needsApproval`, `approval: true`), as questions like those of parked actions:
// their list, and a decision over one. The turn engine takes the decision, so the first one wins, whichever surface it came
// from, and who may decide is asked there.
import type { UIMessage } from "ai";
import { sha256 } from "../../host/blobs.ts";
import { isToolPart, toolNameOf, type ToolPart } from "../../model/index.ts";
import type { ActionOutput, PendingApproval } from "../../feature/approval-contract.ts";
import type { ChatServices } from "../../feature/services.ts";
import { askedInChat } from "../approvals/approval-check.ts";
import { canonicalJson, type Json } from "../../util/json.ts";

export interface CallDecision {
  readonly isApproved: boolean;
  /** The hash of the question that was decided about: no other is decided by it. */
  readonly inputHash: string;
  /** Who decides; recorded. */
  readonly by?: string;
  /** Shown to the model with a rejection. */
  readonly reason?: string;
}

export class AskedCalls {
  readonly #services: ChatServices;

  constructor(services: ChatServices) {
    this.#services = services;
  }

  /** Lists those of the answer of a turn that is over. */
  ofTurn(requestId: string): PendingApproval[] {
    const { message } = this.#services.turns.outcomeOf(requestId) ?? {};
    // A page may have decided since the turn ended.
    return this.waiting(waitingParts(message).map(({ toolCallId }) => toolCallId)).map((asked) => ({
      ...asked,
      descriptor: { ...asked.descriptor, requestId }
    }));
  }

  /** Lists those of these calls that wait. */
  waiting(callIds: readonly string[]): PendingApproval[] {
    if (callIds.length === 0) return [];
    const wanted = new Set(callIds);
    const messages = new Set(this.#services.transcript.messagesOfCalls(wanted).values());
    return [...messages].flatMap((message) =>
      waitingParts(message).flatMap((part) => (wanted.has(part.toolCallId) ? [questionOf(message.id, part)] : []))
    );
  }

  /** Decides over a call, and goes on with the conversation. Answers `{ status: "error" }` where nothing was done. */
  async decide(callId: string, { inputHash, isApproved, by, reason }: CallDecision): Promise<ActionOutput> {
    const [asked] = this.waiting([callId]);
    if (asked?.inputHash !== inputHash) return refusal(callId, "This question is not open any more.");
    const answer = { toolCallId: callId, approved: isApproved, autoContinue: true, by, reason };
    const outcome = await this.#services.turns.answerApproval(answer);
    if (!outcome.changed) return refusal(callId, outcome.refused?.message ?? "This question is not open any more.");
    return { status: isApproved ? "approved" : "rejected" };
  }
}

function refusal(executionId: string, error: string): ActionOutput {
  return { status: "error", executionId, error };
}

function waitingParts(message: UIMessage | undefined): ToolPart[] {
  return (message?.parts ?? []).flatMap((part) =>
    isToolPart(part) && part.state === "approval-requested" ? [part] : []
  );
}

function questionOf(messageId: string, part: ToolPart): PendingApproval {
  const { toolCallId, input, approval } = part;
  const { descriptor } = askedInChat({ part, messageId, approved: true, by: undefined });
  const isNamed = descriptor.summary !== descriptor.action;
  const summary = isNamed ? descriptor.summary : `May "${toolNameOf(part)}" be called with this input?`;
  // The input is JSON: it is read from a stored message.
  const asked = [messageId, toolCallId, approval?.id ?? "", toolNameOf(part), (input ?? null) as Json];
  return {
    executionId: toolCallId,
    source: "tool",
    descriptor: { ...descriptor, summary },
    inputHash: sha256(canonicalJson(asked))
  };
}
