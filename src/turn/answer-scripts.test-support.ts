// Random answers as an attempt writes them: chunks and the records of calls, in an order that really occurs. A process
// may die after any of these events; what is left is then exactly the events before it.
import type { UIMessage, UIMessageChunk } from "ai";
import fc from "fast-check";
import { foldCalls, NO_CALLS, type CallsFold } from "../journal/folds/calls-fold.ts";
import { call, SAMPLES, settledCall } from "../journal/record-samples.test-support.ts";
import type { CallOutcome, JournalRecord } from "../journal/records.ts";
import { isToolPart, type ToolPart } from "../model/index.ts";
import { INTERRUPTED_TEXT, interruptedPart, NOT_RUN_TEXT } from "../session/open-calls.ts";
import { approvalId, callId } from "../util/ids.ts";
import { recoverPartial, type RecoveredPartial, type PartialInit } from "./partial.ts";

export type Written =
  | { readonly chunk: UIMessageChunk; readonly record?: undefined }
  | { readonly record: JournalRecord; readonly chunk?: undefined };

interface Block {
  readonly kind: "text" | "reasoning";
  readonly words: readonly string[];
}

interface PlannedCall {
  readonly kind: "call";
  readonly ends: "output" | "error" | "client" | "approval";
  /** How many events before its chunk the record of the call is written; negative: right after it. */
  readonly lead: number;
  /** How many events later it has its outcome, and readers learn of it. */
  readonly delays: readonly [number, number];
  readonly dynamic: boolean;
}

export type Plan = readonly (readonly (Block | PlannedCall)[])[];

const block: fc.Arbitrary<Block> = fc.record({
  kind: fc.constantFrom("text", "reasoning"),
  words: fc.array(fc.string({ minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 3 })
});

function planned(ends: fc.Arbitrary<PlannedCall["ends"]>, maxLead: number): fc.Arbitrary<PlannedCall> {
  const delays = fc.tuple(fc.nat(6), fc.nat(3));
  const lead = fc.integer({ min: -1, max: maxLead });
  return fc.record({ kind: fc.constant("call"), ends, lead, delays, dynamic: fc.boolean() });
}

const step = (one: fc.Arbitrary<PlannedCall>) => fc.array(fc.oneof(block, one), { minLength: 1, maxLength: 4 });

/** Answers whose tools all run here. `maxLead`: how far records of calls may be ahead of chunks. */
export function serverAnswers(maxLead: number): fc.Arbitrary<Plan> {
  const steps = fc.array(step(planned(fc.constantFrom("output", "error"), maxLead)), { minLength: 1, maxLength: 3 });
  const last = fc.array(block, { minLength: 1, maxLength: 2 });
  return fc.tuple(steps, last).map(([first, end]) => [...first, end]);
}

/** Answers that may end in questions to people and clients. */
export const anyAnswer: fc.Arbitrary<Plan> = fc
  .tuple(serverAnswers(6), step(planned(fc.constantFrom("output", "error", "client", "approval"), -1)))
  .map(([first, end]) => [...first.slice(0, -1), end]);

export function write(plan: Plan): Written[] {
  return [
    { chunk: { type: "start", messageId: "m" } },
    ...plan.flatMap((items, index) => writeStep(items, index)),
    { chunk: { type: "finish", finishReason: "stop" } }
  ];
}

function writeStep(items: Plan[number], step: number): Written[] {
  const timed: { at: number; written: Written }[] = [];
  const put = (written: Written, at = timed.length) => void timed.push({ at, written });
  put({ chunk: { type: "start-step" } });
  items.forEach((item, index) => {
    const id = `${step}-${index}`;
    if (item.kind !== "call") return writeBlock(item, id).forEach((chunk) => put({ chunk }));
    const { input, records, outcome } = writeCall(item, id);
    input.slice(0, -1).forEach((chunk) => put({ chunk }));
    const at = timed.length;
    if (item.lead >= 0) records.forEach((record) => put({ record }, at - item.lead - 0.5));
    input.slice(-1).forEach((chunk) => put({ chunk }));
    if (item.ends === "approval")
      put({ chunk: { type: "tool-approval-request", approvalId: id, toolCallId: `c${id}` } });
    if (item.lead < 0) records.forEach((record) => put({ record }));
    if (outcome) put({ record: outcome.record }, timed.length + item.delays[0]);
    if (outcome) put({ chunk: outcome.chunk }, timed.length + item.delays[0] + item.delays[1]);
  });
  const inOrder = timed.toSorted((a, b) => a.at - b.at).map(({ written }) => written);
  return [...inOrder, { chunk: { type: "finish-step" } }];
}

function writeBlock({ kind, words }: Block, id: string): UIMessageChunk[] {
  const deltas = words.map((delta): UIMessageChunk => ({ type: `${kind}-delta`, id, delta }));
  return [{ type: `${kind}-start`, id }, ...deltas, { type: `${kind}-end`, id }];
}

function writeCall({ ends, dynamic }: PlannedCall, id: string) {
  const toolCallId = `c${id}`;
  const toolName = ends === "client" ? "locate" : "search";
  const executor = ends === "client" ? "client" : "server";
  const named = { toolCallId, toolName, ...(dynamic && { dynamic }) };
  const input: UIMessageChunk[] = [
    { type: "tool-input-start", ...named },
    { type: "tool-input-delta", toolCallId, inputTextDelta: `{"for":` },
    { type: "tool-input-delta", toolCallId, inputTextDelta: `"${id}"}` },
    {
      type: "tool-input-available",
      ...named,
      input: { for: id },
      ...(executor === "client" && { clientExecuted: true })
    }
  ];
  const started = call(toolCallId, { toolName, executor, dynamic, input: { for: id } });
  const asked = { ...SAMPLES["approval-asked"], callId: callId(toolCallId), approvalId: approvalId(id) };
  const records: JournalRecord[] = ends === "approval" ? [started, asked] : [started];
  return { input, records, outcome: writeOutcome(ends, toolCallId) };
}

function writeOutcome(ends: PlannedCall["ends"], toolCallId: string) {
  if (ends !== "output" && ends !== "error") return undefined;
  const isOutput = ends === "output";
  const outcome: CallOutcome = isOutput
    ? { kind: "output", output: { of: toolCallId } }
    : { kind: "error", errorText: `no ${toolCallId}` };
  const chunk: UIMessageChunk = isOutput
    ? { type: "tool-output-available", toolCallId, output: { of: toolCallId } }
    : { type: "tool-output-error", toolCallId, errorText: `no ${toolCallId}` };
  return { record: settledCall(toolCallId, outcome), chunk };
}

/** What a process leaves that dies after these events. */
export interface Left {
  readonly chunks: readonly { readonly seq: number; readonly body: string }[];
  readonly calls: CallsFold;
  /** The number the next chunk gets. */
  readonly nextChunk: number;
}

export function leave(events: readonly Written[]): Left {
  const chunks = events.flatMap(({ chunk }) => (chunk ? [JSON.stringify(chunk)] : []));
  const calls = events.reduce((state, { record }) => (record ? foldCalls(state, record) : state), NO_CALLS);
  return { chunks: chunks.map((body, seq) => ({ seq, body })), calls, nextChunk: chunks.length };
}

export function rescue({ chunks, calls }: Left, more: Partial<PartialInit> = {}): RecoveredPartial {
  const repairPart: PartialInit["repairPart"] = (part) => interruptedPart(part);
  return recoverPartial({ calls, messageId: "m", base: undefined, chunks, repairPart, ...more });
}

/** What a process leaves that began the next attempt, as it does, and died at once. */
export function beginAndDie(left: Left, { keeps, repairs, unknownCalls }: RecoveredPartial): Left {
  const kept = left.chunks.filter(({ seq }) => seq < keeps);
  const added = repairs.map((chunk, index) => ({ seq: left.nextChunk + index, body: JSON.stringify(chunk) }));
  const unknown = { kind: "unknown", reason: "died" } as const;
  const calls = unknownCalls.reduce((state, id) => foldCalls(state, settledCall(id, unknown)), left.calls);
  return { chunks: [...kept, ...added], calls, nextChunk: left.nextChunk + repairs.length };
}

export function toolParts(message: UIMessage): ToolPart[] {
  return message.parts.flatMap((part) => (isToolPart(part) ? [part] : []));
}

export function isInterrupted(part: ToolPart): boolean {
  return part.errorText === INTERRUPTED_TEXT || part.errorText === NOT_RUN_TEXT;
}

export function textOfParts(message: UIMessage): string {
  return message.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}
