// What the parts take from the client library: everything else they import is React, `ai`, `marked`, `sugar-high` or each
// other. `npx everthink add chat` copies the folder and writes this one file anew, with the names of the package.
export { describeRetry } from "../retry.ts";
export type { AgentRun } from "../agent-runs.ts";
export type { AwaitedRetry } from "../retry.ts";
export type { ClientReceipt } from "../receipts.ts";
export type { ConnectionState } from "../socket.ts";
export type { Status, WaitingApproval } from "../view.ts";
export type { ThinkClientOptions } from "../options.ts";
export { useThink, type UseThinkResult } from "../use-think.ts";
