// Calls that wait for approval inside an answer: tools with `needsApproval`, actions with `approval`, tools of MCP servers,
// extensions to load. The turn engine keeps them, so a decision of a page and one of any other surface are the same.
import type { UIMessage } from "ai";
import { sha256 } from "../../host/blobs.ts";
import {
  FIXED_INPUT,
  type ActionApprovalDescriptor,
  type ActionOutput,
  type Decision,
  type PendingApproval,
  type Question
} from "../../feature/approval-contract.ts";
import { schemaProblem } from "../../sandbox/json-schema.ts";
import type { ChatServices } from "../../feature/services.ts";
import { isToolPart, toolNameOf, type ToolPart } from "../../model/index.ts";
import type { ChatDecision } from "../../turn/hooks.ts";
import { toolPartOf } from "../../turn/tool-calls.ts";
import { canonicalJson, isObject, type Json } from "../../util/json.ts";
import { err, type Result } from "../../util/result.ts";
import { errorOutput } from "./deciding.ts";

export class ChatQuestions {
  readonly #services: ChatServices;

  constructor(services: ChatServices) {
    this.#services = services;
  }

  /** The question of a call, decided or not. Undefined: it was never asked about. */
  find(callId: string): Question | undefined {
    const message = this.#services.transcript.messagesOfCalls(new Set([callId])).get(callId);
    const part = message && toolPartOf(message, callId);
    return message && part?.approval && chatQuestion(message.id, part);
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
  waiting(callIds: readonly string[]): Question[] {
    if (callIds.length === 0) return [];
    const wanted = new Set(callIds);
    const messages = new Set(this.#services.transcript.messagesOfCalls(wanted).values());
    return [...messages].flatMap((message) =>
      waitingParts(message).flatMap((part) => (wanted.has(part.toolCallId) ? [chatQuestion(message.id, part)] : []))
    );
  }

  /** Says what becomes of a changed input. "fixed": it cannot be changed. */
  async checkInput({ messageId, descriptor }: Question, input: unknown): Promise<Result<unknown, unknown> | "fixed"> {
    const { transcript, previewTurn, validate } = this.#services;
    const name = descriptor.action;
    const { merged } = await previewTurn(undefined, transcript.path(messageId));
    const tool = Object.hasOwn(merged.tools, name) ? merged.tools[name] : undefined;
    if (tool === undefined) return err(`There is no tool "${name}" now.`);
    if (FIXED_INPUT in tool) return "fixed";
    const checked = await validate(tool.inputSchema, input);
    const problem = checked.ok ? await plainSchemaProblem(tool.inputSchema, checked.value) : undefined;
    return problem === undefined ? checked : err(problem);
  }

  /** Decides over a call, and goes on with the conversation. Answers `{ status: "error" }` where nothing was done. */
  async decide(question: Question, { isApproved: approved, origin, ...decision }: Decision): Promise<ActionOutput> {
    const answer = { toolCallId: question.executionId, approved, autoContinue: true, origin, ...decision };
    const outcome = await this.#services.turns.answerApproval(answer);
    const { refused } = outcome.changed ? {} : outcome;
    return refused ? errorOutput(question, { error: refused }) : { status: approved ? "approved" : "rejected" };
  }
}

/** Tools of servers have a schema that checks nothing by itself. */
async function plainSchemaProblem(schema: unknown, input: unknown): Promise<string | undefined> {
  if (!isObject(schema) || typeof schema["validate"] === "function") return undefined;
  return schemaProblem(await schema["jsonSchema"], input, { path: "input", depth: 0 });
}

function waitingParts(message: UIMessage | undefined): ToolPart[] {
  return (message?.parts ?? []).flatMap((part) =>
    isToolPart(part) && part.state === "approval-requested" ? [part] : []
  );
}

/** What a decision of a page is about. */
export function chatQuestion(messageId: string, part: ToolPart): Question {
  const { toolCallId, approval } = part;
  const action = toolNameOf(part);
  // Of an action it is the action's own: the server stored it with the question.
  const stored = isObject(approval?.descriptor) ? (approval.descriptor as Partial<ActionApprovalDescriptor>) : {};
  const asked = part.askedInput ?? part.input ?? null;
  const input = isObject(asked) || Array.isArray(asked) ? asked : {};
  const summary = `May "${action}" be called with this input?`;
  return {
    executionId: toolCallId,
    source: "tool",
    messageId,
    descriptor: {
      ...{ requestId: "", toolCallId, action, summary, input, permissions: [], kind: "approval-gated" },
      ...stored
    },
    // Of this one question: the same call that is asked about again is another one to decide about.
    inputHash: sha256(canonicalJson([messageId, toolCallId, approval?.id ?? "", action, asked as Json])),
    grant: { allowed: true }
  };
}

/** A decision that names another question than the one the call asks. */
export function isOfOtherQuestion({ part, approvalId }: ChatDecision): boolean {
  return approvalId !== undefined && approvalId !== part.approval?.id;
}
