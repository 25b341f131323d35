// The turns of a conversation, read for inspectors: from their records while those are there, then from what the history
// keeps and the stored messages. Reads with a reader of its own, which sets nothing aside: a damaged row is left to the
// agent.
import type { UIMessage } from "ai";
import { agentTools } from "../agent-tools/capability.ts";
import type { BudgetMembers } from "../budgets/capability.ts";
import { knownCostOf, withCosts } from "./cost.ts";
import { shownMessage, callsOf, messagePreview } from "./shown-messages.ts";
import { shownText } from "./shown-text.ts";
import {
  foldTimeline,
  timelineOfHistory,
  withDecisions,
  type LaterDecision,
  type RecordedTimeline
} from "./turn-timeline.ts";
import type { CallPart } from "./inspect-http.ts";
import type { ChildRun, Cost, ShownChange, ShownText, TurnsView, TurnSummary, TurnTimeline } from "./views.ts";
import { changeOf, turnOf, type KeptRow, type TurnHistory } from "../../journal/history.ts";
import { JournalReader } from "../../journal/reader.ts";
import type { SequencedRecord } from "../../journal/records.ts";
import { JournalRows } from "../../journal/rows.ts";
import { kebabCase } from "../../util/kebab.ts";
import type { ChatServices } from "../../feature/services.ts";
import type { InspectionMembers } from "./capability.ts";
import { approvals } from "../approvals/capability.ts";
import { listDecidedApprovals } from "../approvals/decided-approvals.ts";

/** What is read of the journal for one turn, and at a time. */
const MAX_RECORD_BYTES = 32 * 1024 * 1024;
const PAGE_BYTES = 1024 * 1024;
const PAGE_RECORDS = 4_096;
/** History rows that are looked through for a turn of which only the id is known. */
const SEARCHED_PAGES = 50;
const PAGE = 100;
const MAX_CHANGES = 200;
const MAX_RUNS = 200;

/** A turn with what was found of it. */
export interface FoundTurn {
  readonly timeline: RecordedTimeline;
  readonly source: TurnTimeline["source"];
  readonly records: readonly SequencedRecord[];
  readonly history: TurnHistory | undefined;
}

export class InspectedTurns {
  readonly #services: ChatServices;
  readonly #agent: InspectionMembers & BudgetMembers;
  readonly #rows: JournalRows;
  readonly #reader: JournalReader;

  constructor(services: ChatServices) {
    this.#services = services;
    this.#agent = services.agent as InspectionMembers & BudgetMembers;
    const { host, conversation } = services.store.scope;
    this.#rows = new JournalRows({ ...host, conversation });
    this.#reader = new JournalReader(this.#rows, conversation);
  }

  get head(): number {
    return this.#rows.head();
  }

  list({ before, limit }: { before: number; limit: number }): TurnsView {
    const { journal } = this.#services;
    const open = before > this.head ? this.#open() : [];
    const rows = journal.history.turnsBefore(before, limit + 1);
    const settled = rows.slice(0, limit).flatMap((row) => this.#summary(row) ?? []);
    const oldest = rows.at(limit - 1)?.sequence;
    const from = rows.length > limit ? (oldest ?? 0) : 0;
    return {
      head: this.head,
      turns: [...open, ...settled],
      changes: this.#changes({ after: from, before }),
      next: rows.length > limit ? oldest : undefined
    };
  }

  /** Newest first. */
  #open(): TurnSummary[] {
    const { openTurns } = this.#services.store.scope.conversation.row;
    return openTurns.toReversed().map(({ turnId, firstSequence }) => {
      const records = this.#recordsOf(turnId, firstSequence - 1);
      return this.#openSummary(foldTimeline(turnId, records), { position: firstSequence, records });
    });
  }

  #openSummary(
    timeline: RecordedTimeline,
    { position, records }: { position: number; records: readonly SequencedRecord[] }
  ): TurnSummary {
    const steps = timeline.attempts.flatMap((attempt) => attempt.steps);
    const { turnId, requestId, trigger, status, reason, error, admittedAt, startedAt, settledAt, usage } = timeline;
    return {
      turnId,
      position,
      requestId,
      trigger,
      status,
      reason,
      errorCode: error?.code ?? null,
      admittedAt,
      startedAt,
      settledAt,
      attempts: timeline.attempts.length,
      deaths: timeline.attempts.filter(({ end }) => end === "interrupted").length,
      steps: steps.filter(({ finishedAt }) => finishedAt !== null).length,
      calls: steps.reduce((count, { calls }) => count + calls.length, 0),
      usage,
      cost: withCosts(timeline.attempts, this.#agent.getPrices()).cost,
      models: [...new Set(timeline.attempts.flatMap(({ modelId }) => modelId ?? []))],
      question: messagePreview(this.#message(timeline.inputMessageIds[0]) ?? admittedMessage(records)),
      answer: null
    };
  }

  #summary(row: KeptRow): TurnSummary | undefined {
    const history = turnOf(row);
    if (!history) return undefined;
    const {
      turnId,
      requestId,
      trigger,
      outcome: status,
      reason,
      errorCode,
      admittedAt,
      startedAt,
      settledAt
    } = history;
    return {
      turnId,
      position: row.sequence,
      requestId,
      trigger,
      status,
      reason,
      errorCode,
      admittedAt,
      startedAt,
      settledAt,
      attempts: history.attempts.length,
      deaths: history.attempts.filter(({ end }) => end === "interrupted").length,
      steps: history.steps,
      calls: history.tools.called.reduce((count, { calls }) => count + calls, 0),
      usage: history.usage,
      cost: this.#knownCostOf(history),
      models: history.models,
      question: messagePreview(this.#message(history.inputMessageIds[0])),
      answer: messagePreview(this.#message(history.messageId ?? undefined))
    };
  }

  #knownCostOf({ models, usage }: TurnHistory): Cost | null {
    return models.length === 1 ? knownCostOf(this.#agent.getPrices(), models[0], usage) : null;
  }

  turn(turnId: string): TurnTimeline | undefined {
    const found = this.find(turnId);
    if (!found) return undefined;
    const { source, records } = found;
    const callIds = new Set(
      found.timeline.attempts.flatMap(({ steps }) => steps.flatMap(({ calls }) => calls.map(idOf)))
    );
    const timeline = withDecisions(found.timeline, this.#later(found, callIds));
    const costed = withCosts(timeline.attempts, this.#agent.getPrices());
    const ids = [
      ...new Set([...timeline.inputMessageIds, ...(timeline.messageId === null ? [] : [timeline.messageId])])
    ];
    return {
      ...timeline,
      ...costed,
      source,
      written: source === "records" ? this.#written(records) : null,
      messages: ids.flatMap((id) => this.#message(id) ?? []).map(shownMessage),
      childRuns: this.#childRuns(timeline, callIds),
      changes: this.#changes({ after: 0, before: Number.MAX_SAFE_INTEGER }, turnId)
    };
  }

  find(turnId: string): FoundTurn | undefined {
    const kept = this.#kept(turnId);
    const { openTurns, clearedSequence } = this.#services.store.scope.conversation.row;
    const open = openTurns.find((one) => one.turnId === turnId);
    if (!kept && !open) return undefined;
    const after = open ? open.firstSequence - 1 : Math.max(0, clearedSequence - 1);
    const records = this.#recordsOf(turnId, after, kept?.sequence);
    const history = kept && turnOf(kept);
    if (open || records[0]?.record.type === "turn-admitted") {
      return { timeline: foldTimeline(turnId, records), source: "records", records, history };
    }
    if (!history) return undefined;
    const calls = callsOf(this.#message(history.messageId ?? undefined));
    return { timeline: timelineOfHistory(history, calls), source: "history", records: [], history };
  }

  /** More of an input or output than the timeline shows. */
  call(turnId: string, { callId, part, from }: CallPart): ShownText | undefined {
    const found = this.find(turnId);
    const value =
      found && (recordedValue(found.records, callId, part) ?? this.#storedValue(found.timeline, callId, part));
    return value && shownText(value[0], undefined, from);
  }

  #storedValue({ messageId }: RecordedTimeline, callId: string, part: CallPart["part"]): [unknown] | undefined {
    const message = messageId === null ? undefined : this.#services.transcript.get(messageId);
    const found = message?.parts.find((one) => "toolCallId" in one && one.toolCallId === callId);
    if (!found || !("input" in found)) return undefined;
    if (part === "input") return [found.input];
    const output: unknown = "output" in found ? found.output : "errorText" in found ? found.errorText : undefined;
    return output === undefined ? undefined : [output];
  }

  /** As it fits a row: enough to show, and never megabytes. */
  #message(id: string | undefined): UIMessage | undefined {
    const stored = id === undefined ? null : this.#services.store.getShown(id);
    // Messages of an agent are the SDK's.
    return (stored as UIMessage | null) ?? undefined;
  }

  #kept(turnId: string): KeptRow | undefined {
    const { history } = this.#services.journal;
    let before = Number.MAX_SAFE_INTEGER;
    for (let page = 0; page < SEARCHED_PAGES; page += 1) {
      const rows = history.turnsBefore(before, PAGE);
      const found = rows.find((row) => turnOf(row)?.turnId === turnId);
      const last = rows.at(-1);
      if (found || rows.length < PAGE || !last) return found;
      before = last.sequence;
    }
    return undefined;
  }

  #recordsOf(turnId: string, after: number, upTo = Number.MAX_SAFE_INTEGER): SequencedRecord[] {
    const records: SequencedRecord[] = [];
    let left = MAX_RECORD_BYTES;
    // Pages of the default number of records would reach the limit long before its bytes.
    const limits = { maxBytes: PAGE_BYTES, maxRecords: PAGE_RECORDS };
    for (const page of this.#reader.pages({ after, turnIds: new Set([turnId]), ...limits })) {
      records.push(...page.entries);
      left -= PAGE_BYTES;
      if (page.cursor >= upTo || left <= 0) break;
    }
    return records;
  }

  #written(records: readonly SequencedRecord[]): TurnTimeline["written"] {
    const first = records[0]?.sequence ?? 0;
    const last = records.at(-1)?.sequence ?? 0;
    const sequences = new Set(records.map(({ sequence }) => sequence));
    const rows = this.#rows.sizes(first, last - first + 1).filter((row) => {
      return Array.from({ length: row.count }, (_, index) => row.last - index).some((place) => sequences.has(place));
    });
    return { rows: rows.length, records: records.length, bytes: rows.reduce((sum, row) => sum + row.size_bytes, 0) };
  }

  #changes({ after, before }: { after: number; before: number }, turnId?: string): ShownChange[] {
    const rows = this.#services.journal.history.changes(after, 1000);
    const shown = rows.flatMap((row): ShownChange[] => {
      const change = changeOf(row);
      if (!change || row.sequence >= before || (turnId !== undefined && change.turnId !== turnId)) return [];
      const { at, change: kind, by, why, count, messageIds } = change;
      return [{ position: row.sequence, at, kind, by, why, count, messageIds }];
    });
    return shown.slice(-MAX_CHANGES);
  }

  /** Begun while the turn ran: a model may name calls of different turns alike. */
  #childRuns({ startedAt: from, settledAt }: RecordedTimeline, callIds: ReadonlySet<string>): ChildRun[] {
    const isOfTurn = (at: number) => at >= (from ?? 0) && at <= (settledAt ?? Infinity);
    const runs = agentTools.of(this.#services.agent).runs.list(MAX_RUNS);
    return runs
      .filter(({ parentToolCallId: id, startedAt }) => id !== undefined && callIds.has(id) && isOfTurn(startedAt))
      .map(({ runId, agentType, parentToolCallId, status, inputPreview, startedAt, completedAt }) => ({
        runId,
        agentType,
        callId: parentToolCallId ?? null,
        status,
        input: inputPreview ?? null,
        startedAt,
        completedAt: completedAt ?? null,
        path: `sub/${kebabCase(agentType)}/${encodeURIComponent(runId)}`
      }));
  }

  /** What was decided over the turn's calls, by call. */
  #later({ timeline, history }: FoundTurn, callIds: ReadonlySet<string>): (callId: string) => LaterDecision {
    const { messageId, requestId } = timeline;
    const decided = listDecidedApprovals(this.#services, { messageId, callIds });
    // Newest first: of several decisions over one call the newest is shown.
    const decisions = new Map(decided.toReversed().map((one) => [one.callId, one]));
    const stored = new Map(callsOf(this.#message(messageId ?? undefined)).map((call) => [call.callId, call]));
    const deciders = new Map(history?.deciders?.map(({ callId, decidedBy }) => [callId, decidedBy]));
    const pending = approvals
      .of(this.#services.agent)
      .pending(undefined)
      .map(({ descriptor }) => descriptor);
    const parked = new Set(pending.filter((one) => one.requestId === requestId).map(({ toolCallId }) => toolCallId));
    return (callId) => ({
      decision: decisions.get(callId),
      stored: stored.get(callId),
      decidedBy: deciders.get(callId),
      isParked: parked.has(callId)
    });
  }
}

function idOf({ callId }: { readonly callId: string }): string {
  return callId;
}

function recordedValue(
  records: readonly SequencedRecord[],
  callId: string,
  part: CallPart["part"]
): [unknown] | undefined {
  for (const { record } of records) {
    if (part === "input" && record.type === "call-started" && record.callId === callId) return [record.input];
    if (part === "output" && record.type === "call-settled" && record.callId === callId) {
      const { outcome } = record;
      return [
        outcome.kind === "output" ? outcome.output : outcome.kind === "error" ? outcome.errorText : outcome.reason
      ];
    }
  }
  return undefined;
}

/** The question of a turn that waits: its messages join the conversation when it starts. */
function admittedMessage(records: readonly SequencedRecord[]): UIMessage | undefined {
  const record = records[0]?.record;
  const input = record?.type === "turn-admitted" ? record.input[0] : undefined;
  // Checked when the turn was admitted.
  return input === undefined ? undefined : (input as object as UIMessage);
}
