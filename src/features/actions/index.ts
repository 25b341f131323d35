export { isAction, type Action, type ActionConfig, type ActionContext } from "./descriptor.ts";
export { action } from "./feature.ts";
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
  ApprovalQuestion,
  LedgerResolution,
  LedgerResolutionResult,
  ListLedgerOptions,
  PendingApproval,
  ReplyAttachment
} from "../../feature/approval-contract.ts";
