// What can be wrong with an action. Definition errors are thrown where the class defines it; everything that happens in
// a call becomes an output the model reads: `{ error: { name, message } }`. Names of the latter are a public contract.
import { errorMessage, ThinkError, type ThinkErrorInit } from "../../util/errors.ts";
import { truncateText } from "../../util/truncate-value.ts";

/** The descriptor or the map of actions is wrong: a bug in the class. */
export class ActionDefinitionError extends ThinkError {
  constructor(what: string, hint?: string) {
    super({ code: "action-definition", message: what, ...(hint !== undefined && { hint }) });
  }
}

interface ActionErrorInit extends ThinkErrorInit {
  readonly name: string;
  readonly extra?: Readonly<Record<string, string[]>>;
}

/** A call failed in a way that has a name. `extra` is shown to the model beside name and message. */
export class ActionError extends ThinkError {
  readonly extra: Readonly<Record<string, string[]>> | undefined;

  constructor(init: ActionErrorInit) {
    super(init);
    // Said, not taken from the class: bundlers rename classes, and models and users match on these names.
    this.name = init.name;
    this.extra = init.extra;
  }
}

export class ActionAuthorizationError extends ActionError {
  constructor(init: { action: string; permissions: readonly string[]; reason?: string | undefined }) {
    const missing = init.permissions.length === 0 ? "" : ` It needs: ${init.permissions.join(", ")}.`;
    super({
      name: "ActionAuthorizationError",
      code: "action-denied",
      message: init.reason ?? `The action "${init.action}" is not allowed in this turn.${missing}`,
      extra: { permissions: [...init.permissions] }
    });
  }
}

export class ActionApprovalInputError extends ActionError {
  constructor(action: string) {
    super({
      name: "ActionApprovalInputError",
      code: "action-approval-input",
      message: `"${action}" was approved with another input, so it was not run. Ask for approval again.`
    });
  }
}

/** The policy asks for a human now and did not before: it must be a pure function of the input. */
export class ActionNotApprovedError extends ActionError {
  constructor(action: string) {
    super({
      name: "ActionNotApprovedError",
      code: "action-not-approved",
      message: `"${action}" needs approval and was not approved; it was not run.`
    });
  }
}

export class ActionPendingError extends ActionError {
  constructor(action: string, sinceMs: number) {
    super({
      name: "ActionPendingError",
      code: "action-pending",
      message: `An earlier attempt of "${action}" may already have run; its result is not known. Do not try again blindly.`,
      hint: `Started ${new Date(sinceMs).toISOString()}. Settle it with resolveActionLedger(), or give the action an idempotencyKey if running it again under the same key is safe.`
    });
  }
}

export class ActionKeyConflict extends ActionError {
  constructor(action: string, key: string) {
    super({
      name: "ActionKeyConflict",
      code: "action-key-conflict",
      message: `The key "${key}" of the action "${action}" was used before with another action or input. Do not retry with this input.`
    });
  }
}

export class ActionTimeoutError extends ActionError {
  constructor(timeoutMs: number) {
    super({ name: "ActionTimeoutError", code: "action-timeout", message: `Action timed out after ${timeoutMs}ms` });
  }
}

export class ActionPolicyError extends ActionError {
  constructor(action: string, what: string) {
    super({ name: "ActionPolicyError", code: "action-policy", message: `"${action}" was not run: ${what}.` });
  }
}

/** The effect happened; what `execute` returned is not what the class promised. */
export class ActionOutputError extends ActionError {
  constructor(action: string, problem: string) {
    super({
      name: "ActionOutputError",
      code: "action-output",
      message: `"${action}" ran, but its result does not match its output schema: ${problem}`
    });
  }
}

export class ActionParkingError extends ActionError {
  constructor(action: string, what: string) {
    super({
      name: "ActionParkingError",
      code: "action-parking",
      message: `"${action}" cannot wait for approval: ${what}.`
    });
  }
}

/** The class or a person did not let it run: the model is told, and there is nothing to mend. */
export function isRefusal(error: unknown): boolean {
  return (
    error instanceof ActionAuthorizationError ||
    error instanceof ActionApprovalInputError ||
    error instanceof ActionNotApprovedError
  );
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
