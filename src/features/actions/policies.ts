// An action's callbacks, asked: each answer is checked, because a wrong one must not run an effect. They get the same
// context as `execute`, with an `attachReply` that does nothing, and may be asked more than once about one call.
import type { ActionContext } from "./descriptor.ts";
import { isTextList, type AnyAction } from "./descriptor.ts";
import { actionErrors } from "./errors.ts";

/** A call of an action, before it is known whether it runs. */
export interface AskedCall {
  readonly name: string;
  readonly action: AnyAction;
  readonly input: unknown;
  readonly ctx: ActionContext;
}

export async function requiredPermissions(call: AskedCall): Promise<readonly string[]> {
  const { permissions } = call.action.config;
  if (permissions === undefined) return [];
  const answer: unknown = typeof permissions === "function" ? await permissions(asked(call)) : permissions;
  if (!isTextList(answer)) throw actionErrors.ActionPolicyError(call.name, "its permissions are not a list of texts");
  return answer;
}

/** Whether a human must agree. Absent means yes for the kinds that ask. */
export async function needsHuman(call: AskedCall): Promise<boolean> {
  const { kind, config } = call.action;
  if (kind === "server") return false;
  const { approval } = config;
  if (typeof approval !== "function") return approval !== false;
  const answer: unknown = await approval(asked(call));
  if (typeof answer !== "boolean")
    throw actionErrors.ActionPolicyError(call.name, "its approval did not answer true or false");
  return answer;
}

export interface LedgerKey {
  readonly key: string;
  readonly isExplicit: boolean;
}

/** Undefined when the call has neither a key nor an id: it is then not recorded. */
export async function ledgerKey(call: AskedCall): Promise<LedgerKey | undefined> {
  const { idempotencyKey } = call.action.config;
  if (idempotencyKey === undefined) {
    const { requestId, toolCallId } = call.ctx;
    // Some providers give the same id to calls of different turns.
    return toolCallId === "" ? undefined : { key: `tool:${requestId}:${toolCallId}`, isExplicit: false };
  }
  const answer: unknown = typeof idempotencyKey === "function" ? await idempotencyKey(asked(call)) : idempotencyKey;
  if (typeof answer !== "string" || answer === "") {
    throw actionErrors.ActionPolicyError(call.name, "its idempotencyKey is not a text, or an empty one");
  }
  return { key: `action:${call.name}:${answer}`, isExplicit: true };
}

/** Runs the action's body. */
export function execute(call: AskedCall): unknown {
  return call.action.config.execute(checkedInput(call), call.ctx);
}

function asked(call: AskedCall): { input: never; ctx: ActionContext } {
  return { input: checkedInput(call), ctx: { ...call.ctx, attachReply: () => undefined } };
}

/** The schema has checked the value; its type is known only where the action was written. */
function checkedInput(call: AskedCall): never {
  return call.input as never;
}
