// The name that is recorded with a decision over an approval. A name that a client sends is only its word; one that the
// class reads from the connection or request takes its place.
import type { Connection } from "../agent/connections/connection.ts";
import { getCurrentAgent } from "../agent/context.ts";

/** Longer names are cut. */
const MAX_APPROVER_CHARS = 200;

/** What a decision came with. */
export interface ApprovalCaller {
  readonly connection: Connection | undefined;
  readonly request: Request | undefined;
}

export interface ApproverPolicy {
  identifyApprover(caller: ApprovalCaller): string | undefined;
}

/** Undefined: no name is known. Code of the server that decides by itself is not asked about. Never throws. */
export function approverOf(policy: ApproverPolicy, given: string | undefined): string | undefined {
  const { connection, request } = getCurrentAgent();
  const isClients = connection !== undefined || request !== undefined;
  try {
    const known = isClients ? policy.identifyApprover({ connection, request }) : undefined;
    return named(known) ?? named(given);
  } catch (error) {
    // The given name is not taken instead: the class may have been about to deny it.
    console.error("identifyApprover() failed: the decision is recorded without a name.", error);
    return undefined;
  }
}

function named(name: unknown): string | undefined {
  return typeof name === "string" && name !== "" ? name.slice(0, MAX_APPROVER_CHARS) : undefined;
}
