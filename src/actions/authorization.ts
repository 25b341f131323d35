// The rule of classes that do not decide call by call. Pure.
import type { ActionAuthorizationContext, ActionAuthorizationDecision, ActionGrant } from "../think/actions-port.ts";

/** A denied turn denies; a turn without a list allows; otherwise everything required must be in the list. */
export function authorizeByGrant(
  context: Pick<ActionAuthorizationContext, "action" | "grant" | "requiredPermissions">
): ActionAuthorizationDecision {
  const { grant, requiredPermissions: required } = context;
  if (!grant.allowed) return { allowed: false, ...(grant.reason !== undefined && { reason: grant.reason }) };
  const missing = missingPermissions(grant, required);
  if (missing.length === 0) return true;
  return {
    allowed: false,
    reason: `The action "${context.action}" needs permissions this turn was not given: ${missing.join(", ")}.`
  };
}

export function missingPermissions(grant: ActionGrant, required: readonly string[]): string[] {
  const { grantedPermissions: granted } = grant;
  return granted === undefined ? [] : required.filter((permission) => !granted.includes(permission));
}
