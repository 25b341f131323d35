// The public names of everthink/inspect.
export { INSPECTION_VERSION } from "./views.ts";
export type { StepUsage } from "../../journal/records.ts";
export type { ModelPrice } from "../budgets/prices.ts";
export type { CostReport, Costs, ReportedAccount } from "../budgets/report.ts";
export type { ShownTool, StartedRun, ToolsView } from "./by-hand.ts";
export type { ChatView, ShownReceipt } from "./chat-view.ts";
export type { CostsView, CountedCosts, ShownPrices, UsedLimit } from "./costs-view.ts";
export type { TableColumn, TableValue, TableView } from "./table-rows.ts";
export type { DecidedApproval } from "../approvals/decided-approvals.ts";
export type { DeferredToolsExplanation, ToolGroup } from "../../feature/tool-discovery.ts";
export type { InspectionAccess } from "./inspect-http.ts";
export type {
  AgentView,
  ApprovalTimeline,
  AttemptTimeline,
  CallStatus,
  CallTimeline,
  ChildRun,
  ConversationSummary,
  ConversationsView,
  Cost,
  FileView,
  HistoryWindow,
  InboxEntry,
  InboxView,
  MemoryBlock,
  PolicyDecision,
  ShownChange,
  ShownCompaction,
  ShownFiber,
  ShownFile,
  ShownJob,
  ShownMessage,
  ShownPart,
  ShownSchedule,
  ShownServer,
  ShownSubmission,
  ShownTable,
  ShownText,
  StateView,
  StepTimeline,
  TriedCall,
  TriedRun,
  TryRequest,
  TryView,
  InspectedTurnStatus,
  TurnsView,
  TurnSummary,
  TurnTimeline,
  TurnWhy,
  WhySection,
  WhyTool,
  WindowEntry
} from "./views.ts";
