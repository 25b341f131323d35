// What the class decides about a turn, a call or an approval, as data: what is kept with a turn must mean the same after
// a restart. Pure.
import type { RecordedGrant } from "../turn/turn.ts";
import { isObject } from "../util/json.ts";
import type { ActionGrant } from "./actions-port.ts";

const NOT_A_DECISION: ActionGrant = {
  allowed: false,
  reason: "Nothing is allowed: the authorization answered neither a boolean nor { allowed }."
};

/** What was decided, as data. Anything that is not a decision allows nothing. */
export function grantOf(decision: unknown): ActionGrant {
  if (typeof decision === "boolean") return { allowed: decision };
  if (!isObject(decision) || typeof decision["allowed"] !== "boolean") return NOT_A_DECISION;
  const { allowed, reason, grantedPermissions: granted } = decision;
  if (granted !== undefined && !Array.isArray(granted)) return NOT_A_DECISION;
  return {
    allowed,
    ...(typeof reason === "string" && { reason }),
    ...(granted !== undefined && { grantedPermissions: granted.filter((item) => typeof item === "string") })
  };
}

export function recordOfGrant({ allowed, reason, grantedPermissions }: ActionGrant): RecordedGrant {
  return { allowed, reason: reason ?? null, permissions: grantedPermissions ? [...grantedPermissions] : null };
}

export function grantOfRecord({ allowed, reason, permissions }: RecordedGrant): ActionGrant {
  return { allowed, ...(reason !== null && { reason }), ...(permissions && { grantedPermissions: permissions }) };
}
