export { action } from "./action.ts";
export type { ActionContext } from "./action-context.ts";
export { isAction, type Action, type ActionConfig } from "./descriptor.ts";
export type {
  ActionApprovalDescriptor,
  ActionAuthorizationContext,
  ActionAuthorizationDecision,
  ActionGrant,
  ActionKind,
  ActionLedgerEntry,
  ActionLedgerRetention,
  ActionOutput,
  ActionRisk,
  ActionSet,
  ApprovalAuthorizationContext,
  ApprovalDecision,
  LedgerResolution,
  LedgerResolutionResult,
  ListLedgerOptions,
  PendingApproval,
  ReplyAttachment
} from "../think/actions-port.ts";
