// Names and payloads of everything an agent reports. The names are a public contract: dashboards match on them.

type Fiber = { fiberId: string; fiberName: string; managed: boolean };
type Incident = {
  incidentId: string;
  requestId: string;
  attempt: number;
  maxAttempts: number;
  recoveryKind: "retry" | "continue";
};
type Recovered = Fiber & { recoveryReason: string };
type Job = { callback: string; id: string };
type Files = { namespace: string };
type Submission = { submissionId: string; requestId: string };
type LedgerRow = { action: string; key: string; inputHash: string };
type Turn = { requestId: string; trigger: string; admission: "queue"; continuation: boolean; generation?: number };

export interface EventPayloads {
  "state:update": Record<never, never>;
  rpc: { method: string; streaming?: boolean };
  "rpc:error": { method: string; error: string };
  connect: { connectionId: string };
  disconnect: { connectionId: string; code: number; reason: string };
  destroy: Record<never, never>;
  "schedule:create": Job;
  "schedule:execute": Job;
  "schedule:cancel": Job;
  "schedule:retry": Job & { attempt: number; maxAttempts: number };
  "schedule:error": Job & { error: string; attempts: number };
  /** The class has no such method, as after a deploy without it. The schedule is kept so long, and runs when it has. */
  "schedule:callback_missing": Job & { keptUntil: number };
  "schedule:duplicate_warning": { callback: string; count: number; type: string };
  /** A declared task cannot be scheduled; it keeps the schedule it had. */
  "schedule:task_invalid": { taskId: string; error: string };
  "queue:create": Job;
  "queue:retry": Job & { attempt: number; maxAttempts: number };
  "queue:error": Job & { error: string; attempts: number };
  "fiber:run:started": Fiber;
  "fiber:run:completed": Fiber & { elapsedMs: number };
  "fiber:run:failed": Fiber & { error: string; elapsedMs: number };
  "fiber:run:interrupted": Recovered & { elapsedMs: number };
  "fiber:recovery:detected": Recovered & { elapsedMs: number };
  "fiber:recovery:attempt": Recovered;
  "fiber:recovery:handled": Recovered & { status: "internal" | "managed" | "user"; elapsedMs: number };
  "fiber:recovery:skipped": Recovered & { reason: "scan_deadline_exceeded" | "max_age_exceeded"; elapsedMs: number };
  "fiber:recovery:failed": Recovered & { error: string; reason: string; elapsedMs: number };
  /** A turn waits for a person to grant more budget. */
  "budget:asked": { requestId: string; executionId: string; account: string; amount: number; unit: string };
  "workflow:start": { workflowId: string; workflowName?: string };
  "workflow:event": { workflowId: string; eventType?: string };
  "workflow:approved": { workflowId: string; reason?: string };
  "workflow:rejected": { workflowId: string; reason?: string };
  "workflow:terminated": { workflowId: string };
  "workflow:paused": { workflowId: string };
  "workflow:resumed": { workflowId: string };
  "workflow:restarted": { workflowId: string };
  /** A workflow could not be notified of the end of its prompt, and is not notified any more. */
  "workflow:notification:dropped": { workflowId: string; submissionId: string; error: string };
  /** Several due rows ended in out-of-memory resets; the named row was dropped. */
  "alarm:memory_limit_reset": Job & { strikes: number };
  /** Runs of sub-agents that an earlier process left are taken up. */
  "agent_tool:recovery:begin": { runCount: number };
  "agent_tool:recovery:reattach": { runId: string; agentType: string; budgetMs: number };
  "agent_tool:recovery:row": { runId: string; agentType: string; status: string; reason?: string; elapsedMs: number };
  "agent_tool:recovery:complete": { runCount: number; elapsedMs: number };
  "agent_tool:recovery:failed": { error: string };
  "agent_tool:run:ended": { runId: string; agentType: string; status: string };
  "message:request": Record<never, never>;
  "message:response": Record<never, never>;
  "message:clear": Record<never, never>;
  "message:cancel": { requestId: string };
  "message:error": { error: string };
  "tool:result": { toolCallId: string; toolName: string };
  "tool:approval": { toolCallId: string; approved: boolean };
  "chat:hydration:windowed": { totalContentBytes: number; budgetBytes: number; hydratedMessages: number };
  "chat:media:evicted": { messages: number; parts: number; bytes: number; externalizedBytes: number };
  "chat:transcript:repaired": {
    requestId?: string;
    removedToolCalls: number;
    normalizedInputs: number;
    toolCallIds?: string[];
  };
  "chat:turn:start": Turn;
  "chat:turn:finish": Turn & { status: string; durationMs: number; error?: string };
  "chat:recovery:detected": Incident;
  "chat:recovery:attempt": Incident;
  "chat:recovery:scheduled": Incident;
  "chat:recovery:completed": Incident;
  "chat:recovery:skipped": Incident & { reason?: string };
  "chat:recovery:failed": Incident & { reason?: string };
  "chat:recovery:exhausted": Incident & { reason: string };
  /** A model of a turn failed, and another one is asked. */
  "chat:model:switched": { requestId: string; from: string; to: string; code: string };
  "chat:stream:stalled": { requestId: string; timeoutMs: number };
  "chat:context:compacted": { reason: string; shortened: boolean; requestId?: string; attempt?: number };
  /** Files that made a turn fail: later turns show the model a note in their place. */
  "chat:attachment:refused": {
    requestId: string;
    messageId: string;
    files: { mediaType: string; filename?: string }[];
  };
  /** `error` is what clients were shown; `code` and `cause` say what was behind it. */
  "chat:request:failed": {
    requestId?: string;
    stage: string;
    messagesPersisted?: boolean;
    error: string;
    code?: string;
    cause?: string;
  };
  "submission:create": Submission & { idempotencyKey?: string };
  "submission:status": Submission & { status: string };
  "submission:error": Submission & { error: string };
  "action:ledger:replayed": LedgerRow;
  "action:ledger:pending": LedgerRow;
  "action:ledger:conflict": LedgerRow;
  "action:ledger:settled": LedgerRow;
  "action:ledger:reclaimed": LedgerRow & { ageMs: number };
  "action:ledger:serialize_failed": { action: string; key: string };
  "action:ledger:swept": { settled: number; pending: number };
  "action:pause:created": { action: string; executionId: string; toolCallId: string };
  "action:pause:approved": { action: string; executionId: string };
  "action:pause:rejected": { action: string; executionId: string };
  /** It was not decided in time: the people of `to`, if they are listed, may decide from now on, too. */
  "action:pause:escalated": { action: string; executionId: string; to?: readonly string[] };
  "action:pause:swept": { swept: number };
  "action:reply-attached": { action?: string; attachmentType: string };
  "extension:loaded": { name: string; version: string };
  "extension:unloaded": { name: string };
  /** It could not be loaded, or one of its hooks failed. What it would have added is missing; nothing else. */
  "extension:failed": { name: string; error: string; hook?: string };
  /** An extension used the agent: `target` is the path or the label. */
  "extension:host": { name: string; method: string; target?: string };
  /** A `beforeTurn` hook changed these fields of a turn; `ignored` were not allowed or not usable. */
  "extension:turn": { name: string; turnId: string; changed: string[]; ignored: string[] };
  "mcp:client:preconnect": { serverId: string };
  "mcp:client:connect": { url: string; transport: string; state: string; error?: string };
  "mcp:client:authorize": { serverId: string; authUrl: string; clientId?: string };
  "mcp:client:discover": { url?: string; state?: string; error?: string };
  "mcp:client:close": { url: string; transport?: string; state: "closed" | "error"; error?: string };
  "workspace:read": Files & { path: string; storage: string };
  "workspace:write": Files & { path: string; size: number; storage: string; update: boolean };
  "workspace:delete": Files & { path: string };
  "workspace:mkdir": Files & { path: string; recursive: boolean };
  "workspace:rm": Files & { path: string; recursive: boolean };
  "workspace:cp": Files & { src: string; dest: string; recursive: boolean };
  "workspace:mv": Files & { src: string; dest: string };
  /** A turn has the policy of this channel. */
  "channel:resolved": { channel: string; kind: string; requestId?: string };
  /** A turn's answer is in the channel. */
  "channel:delivered": { channel: string; kind: string; turnEnded: boolean; status: string };
  "notice:delivered": { channel: string; kind: string; informModel: boolean };
  "notice:failed": { channel: string; error: string };
  /** A webhook brought an event that is stored now. */
  "messenger:received": { messenger: string; kind: string; thread: string };
  /** The event was stored before: the provider sent it again. */
  "messenger:duplicate": { messenger: string; thread: string };
  "messenger:ignored": { messenger: string; thread: string; reason: string };
  "messenger:delivered": { messenger: string; thread: string; posts: number; edits: number; durationMs: number };
  /** A reply could not be delivered now; `retryInMs` is absent when it was given up. */
  "messenger:failed": { messenger: string; thread: string; error: string; retryInMs?: number };
  /** An internal start step failed; the object is up all the same. */
  "chat:onstart:degraded": { step: string; error: string };
  /** A stored row could not be read; it was set aside so that the object still boots. */
  "storage:row:quarantined": { table: string; key: string; error: string };
  /** An object of the packages that everthink replaces became ours. Counts are rows; `lost` was given up by the class. */
  "storage:taken-over": {
    takenOverAt: number;
    kinds: { kind: string; found: number; carried: number; left: number }[];
    lost: { kind: string; what: string; rows: number }[];
  };
}

export type EventType = keyof EventPayloads;

/** Emits an event of an agent. */
export type Emit = <Type extends EventType>(type: Type, payload: EventPayloads[Type]) => void;

/** One observed event. `agent` is the class, `name` the instance. */
export type AgentEvent = {
  [Type in EventType]: { type: Type; agent: string; name: string; payload: EventPayloads[Type]; timestamp: number };
}[EventType];

export type ChannelKey =
  | "state"
  | "rpc"
  | "lifecycle"
  | "schedule"
  | "fiber"
  | "agentTool"
  | "mcp"
  | "message"
  | "channel"
  | "chat"
  | "transcript"
  | "workflow"
  | "workspace"
  | "email";

const PREFIXES: ReadonlyArray<readonly [prefix: string, channel: ChannelKey]> = [
  ["mcp:", "mcp"],
  ["workflow:", "workflow"],
  ["workspace:", "workspace"],
  ["fiber:", "fiber"],
  ["chat:transcript:", "transcript"],
  ["chat:", "chat"],
  ["agent_tool:", "agentTool"],
  ["schedule:", "schedule"],
  ["queue:", "schedule"],
  ["message:", "message"],
  ["tool:", "message"],
  ["submission:", "message"],
  ["action:", "message"],
  ["extension:", "message"],
  ["rpc:", "rpc"],
  ["state:", "state"],
  ["email:", "email"],
  ["channel:", "channel"],
  ["notice:", "channel"],
  ["messenger:", "channel"]
];

/** Which channel an event type is published on. */
export function channelOf(type: string): ChannelKey {
  if (type === "rpc") return "rpc";
  return PREFIXES.find(([prefix]) => type.startsWith(prefix))?.[1] ?? "lifecycle";
}

/** The diagnostics-channel name behind a key. */
export function channelName(key: ChannelKey): string {
  return `agents:${key === "agentTool" ? "agent_tool" : key}`;
}
