// Who decided over an approval. A messenger knows its users, and the class knows a caller from its connection or request;
// a name that a client sends is only its word. What is stored and shown is one text, from which the rest can be read:
// `telegram:7` (a user of a messenger), `ann` (known to the application), `unverified:ann` (the client's word).
import type { Approver } from "../../feature/approval-contract.ts";
import type { Connection } from "../../host/connection.ts";
import { currentContext } from "../../agent/context.ts";
import { servicesOf } from "../../feature/services.ts";

/** Longer names are cut. */
const MAX_APPROVER_CHARS = 200;

const UNVERIFIED = "unverified:";
const OF_APP = "app:";

/** Messengers of this package: their users' ids have this form also in a class that declares none of them. */
const PROVIDERS = ["telegram", "slack", "discord", "teams"];

/** What a decision came with. */
export interface ApprovalCaller {
  readonly connection: Connection | undefined;
  readonly request: Request | undefined;
}

interface ApproverPolicy {
  identifyApprover(caller: ApprovalCaller): string | undefined;
}

/** What `authorizeApproval` is given of the decider. */
interface ShownApprover {
  /** As far as it is verified: a comparison with it cannot be passed by what a client sends. */
  readonly by: string | null;
  readonly approver: Approver | null;
}

/**
 * The text for who decides now; undefined: no name is known. What code of the server says by itself is taken as it is. Never
 * throws.
 */
export function approverOf(policy: ApproverPolicy, given: string | undefined): string | undefined {
  const { connection, request } = currentContext();
  if (connection === undefined && request === undefined) return named(given);
  try {
    const known = named(policy.identifyApprover({ connection, request }));
    // A user's name may look like a messenger's: only the messenger itself says that.
    if (known !== undefined) return messengerOf(known) === undefined ? known : `${OF_APP}${known}`;
  } catch (error) {
    // The given name is not taken instead: the class may have been about to deny it.
    console.error("identifyApprover() failed: the decision is recorded without a name.", error);
    return undefined;
  }
  const claimed = named(given);
  return claimed === undefined ? undefined : `${UNVERIFIED}${claimed}`;
}

/** What `approverOf` wrote. */
export function readApprover(text: string | null | undefined): Approver | null {
  if (text === null || text === undefined) return null;
  if (text.startsWith(UNVERIFIED)) return { surface: "web", id: text.slice(UNVERIFIED.length), verified: false };
  if (text.startsWith(OF_APP)) return { surface: "app", id: text.slice(OF_APP.length), verified: true };
  const messenger = messengerOf(text);
  if (messenger === undefined) return { surface: "app", id: text, verified: true };
  return { surface: messenger, id: text.slice(messenger.length + 1), verified: true };
}

/** Through what the current decision of this person comes. */
export function surfaceOf(by: string | undefined): string {
  const messenger = by === undefined ? undefined : messengerOf(by);
  if (messenger !== undefined) return messenger;
  const { connection, request } = currentContext();
  return connection ? "socket" : request ? "http" : "code";
}

/** As a person reads it. */
export function approverName(text: string): string {
  return text.startsWith(UNVERIFIED) ? `${text.slice(UNVERIFIED.length)} (not verified)` : text;
}

export function shownApprover(text: string | null): ShownApprover {
  const approver = readApprover(text);
  return { by: approver?.verified ? text : null, approver };
}

/** The messenger whose user a text is; one that the running agent knows, or of this package. */
function messengerOf(text: string): string | undefined {
  const { agent } = currentContext();
  const declared = agent === undefined ? [] : (servicesOf(agent).features.role("access")?.identities() ?? []);
  return [...declared, ...PROVIDERS].find((id) => text.startsWith(`${id}:`));
}

function named(name: unknown): string | undefined {
  return typeof name === "string" && name !== "" ? name.slice(0, MAX_APPROVER_CHARS) : undefined;
}
