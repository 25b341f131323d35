// What can be wrong with an action. Definition errors are thrown where the class defines it; everything that happens in
// a call becomes an output the model reads: `{ error: { name, message } }`. Names of the latter are a public contract.
import { errorMessage, errorTable, ThinkError, type ThinkErrorInit } from "../../util/errors.ts";
import { truncateText } from "../../util/truncate-value.ts";

interface ActionErrorInit extends ThinkErrorInit {
  readonly extra?: Readonly<Record<string, string[]>>;
}

/** A call failed in a way that has a name. `extra` is shown to the model beside name and message. */
export class ActionError extends ThinkError {
  readonly extra: ActionErrorInit["extra"];

  constructor(init: ActionErrorInit) {
    super(init);
    this.extra = init.extra;
  }
}

export const definitionErrors = errorTable(ThinkError, {
  /** The descriptor or the map of actions is wrong: a bug in the class. */
  ActionDefinitionError: (what: string, hint?: string) => ({ code: "action-definition", message: what, hint })
});

/** Models and users match on these names. */
export const actionErrors = errorTable(ActionError, {
  ActionAuthorizationError: (action: string, permissions: readonly string[], reason?: string) => ({
    code: "action-denied",
    message:
      reason ??
      `The action "${action}" is not allowed in this turn.${permissions.length === 0 ? "" : ` It needs: ${permissions.join(", ")}.`}`,
    extra: { permissions: [...permissions] }
  }),
  ActionApprovalInputError: (action: string) => ({
    code: "action-approval-input",
    message: `"${action}" was approved with another input, so it was not run. Ask for approval again.`
  }),
  /** The policy asks for a human now and did not before: it must be a pure function of the input. */
  ActionNotApprovedError: (action: string) => ({
    code: "action-not-approved",
    message: `"${action}" needs approval and was not approved; it was not run.`
  }),
  ActionPendingError: (action: string, sinceMs: number) => ({
    code: "action-pending",
    message: `An earlier attempt of "${action}" may already have run; its result is not known. Do not try again blindly.`,
    hint: `Started ${new Date(sinceMs).toISOString()}. Settle it with resolveActionLedger(), or give the action an idempotencyKey if running it again under the same key is safe.`
  }),
  ActionKeyConflict: (action: string, key: string) => ({
    code: "action-key-conflict",
    message: `The key "${key}" of the action "${action}" was used before with another action or input. Do not retry with this input.`
  }),
  ActionTimeoutError: (timeoutMs: number) => ({
    code: "action-timeout",
    message: `Action timed out after ${timeoutMs}ms`
  }),
  ActionPolicyError: (action: string, what: string) => ({
    code: "action-policy",
    message: `"${action}" was not run: ${what}.`
  }),
  /** The effect happened; what `execute` returned is not what the class promised. */
  ActionOutputError: (action: string, problem: string) => ({
    code: "action-output",
    message: `"${action}" ran, but its result does not match its output schema: ${problem}`
  }),
  ActionParkingError: (action: string, what: string) => ({
    code: "action-parking",
    message: `"${action}" cannot wait for approval: ${what}.`
  })
});

/** Codes of calls that the class or a person did not let run. */
const REFUSALS: readonly string[] = ["action-denied", "action-approval-input", "action-not-approved"];

/** Whether the class or a person did not let the call run: the model reads that, and there is nothing to mend. */
export function isRefusal(error: unknown): boolean {
  return error instanceof ActionError && REFUSALS.includes(error.code);
}

// ── A failed call, as the model reads it. Only name and message: stacks, causes and hints stay here. Pure. ──

/** Characters of an error's text. */
const MAX_ERROR_CHARS = 4_000;
const MAX_NAME_CHARS = 100;

export interface ErrorEnvelope {
  readonly error: { readonly name: string; readonly message: string; readonly [field: string]: string | string[] };
}

export function errorEnvelope(error: unknown): ErrorEnvelope {
  const extra = error instanceof ActionError ? error.extra : undefined;
  return {
    error: { ...extra, name: nameOf(error), message: truncateText(textOf(error), MAX_ERROR_CHARS) }
  };
}

function nameOf(error: unknown): string {
  // An aborted signal's reason is a DOMException, which is an Error in every host.
  const name: unknown = error instanceof Error ? error.name : undefined;
  return typeof name === "string" && name !== "" ? name.slice(0, MAX_NAME_CHARS) : "Error";
}

/** Whatever was thrown, even what cannot be printed. */
function textOf(error: unknown): string {
  try {
    return String(errorMessage(error));
  } catch {
    return "Something was thrown that cannot be shown.";
  }
}
