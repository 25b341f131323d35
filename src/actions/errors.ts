// What can be wrong with an action. Definition errors are thrown at whoever wrote the class; everything that happens in
// a call becomes an output the model reads: `{ error: { name, message } }`. Names of the latter are a public contract.
import { ThinkError, type ThinkErrorInit } from "../util/errors.ts";

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

/** A call failed in a way this room has a name for. `extra` is shown to the model beside name and message. */
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

/** The policy asks for a human now and nobody was asked: it must be a pure function of the input. */
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
