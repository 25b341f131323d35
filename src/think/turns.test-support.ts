// An engine that only notes admissions: the test decides how each turn goes.
import type { UIMessage } from "ai";
import type { RecordedClientTool } from "../journal/records.ts";
import type { Admission, TurnTicket } from "../turn/admit.ts";
import { TurnListeners, type TurnListener } from "../turn/listener.ts";
import type { TurnOutcome, TurnView } from "../turn/turn.ts";
import type { AnswerOutcome, Replay } from "../turn/turns.ts";
import type { ProgrammaticTurns } from "./programmatic.ts";
import type { StabilityTurns } from "./stability.ts";

interface Admitted {
  readonly admission: Admission;
  readonly view: TurnView;
  readonly settle: (outcome: TurnOutcome) => void;
}

export class FakeTurns implements ProgrammaticTurns, StabilityTurns {
  readonly admitted: Admitted[] = [];
  readonly readers = new TurnListeners();
  readonly commands: string[] = [];
  /** Called for each admission. The default lets the turn wait for the test. */
  run: (admitted: Admitted) => void = () => {};
  refusal: Error | undefined;
  clientTools: readonly RecordedClientTool[] = [];
  body: Record<string, unknown> | undefined;
  generation = 0;
  busy = false;
  open: { view: TurnView; chunks: string[] } | undefined;
  armed: TurnView | undefined;

  recovering(): undefined {}

  stash(): void {}

  requestOf(): undefined {}

  refuseNested(): void {}

  admit(admission: Admission): TurnTicket {
    if (this.refusal) throw this.refusal;
    const { requestId, trigger, continuation = false, origin } = admission;
    const turnId = `turn-${this.admitted.length + 1}`;
    const view = { turnId, requestId, messageId: "answer", trigger, continuation, inputMessageIds: [], origin };
    const { promise, resolve } = Promise.withResolvers<TurnOutcome>();
    const admitted = { admission, view, settle: resolve };
    this.admitted.push(admitted);
    this.run(admitted);
    return { turnId, requestId, settled: promise };
  }

  /** Every turn ends like this, after these chunks. */
  answer(outcome: Partial<TurnOutcome>, chunks: readonly string[] = []): void {
    this.run = ({ view, settle }) => {
      chunks.forEach((body, seq) => this.readers.chunk(view, { seq, body }));
      const ended = { status: "completed" as const, streamed: true, ...outcome };
      this.readers.settled(view, ended);
      settle(ended);
    };
  }

  get last(): Admitted {
    const last = this.admitted.at(-1);
    if (!last) throw new Error("nothing was admitted");
    return last;
  }

  listen(listener: TurnListener): () => void {
    return this.readers.add(listener);
  }
  cancel(requestId: string, reason?: string): void {
    this.commands.push(`cancel ${requestId} ${reason}`);
    this.admitted
      .find(({ admission }) => admission.requestId === requestId)
      ?.settle({ status: "aborted", reason: "cancelled", streamed: true });
  }
  cancelAll(reason?: string): void {
    this.commands.push(`cancel all ${reason}`);
  }
  fail(requestId: string, error: unknown): void {
    this.commands.push(`fail ${requestId}`);
    const text = `described: ${error instanceof Error ? error.message : String(error)}`;
    this.admitted
      .find(({ admission }) => admission.requestId === requestId)
      ?.settle({ status: "error", error: text, streamed: true });
  }
  clear(): void {
    this.commands.push("clear");
  }
  reset(): void {
    this.commands.push("reset");
  }
  answerTool(): AnswerOutcome {
    return { changed: false };
  }
  answerApproval(): AnswerOutcome {
    return { changed: false };
  }
  streaming(): TurnView | undefined {
    return this.open?.view;
  }
  waiting(): TurnView | undefined {
    return this.armed;
  }
  isBusy(): boolean {
    return this.busy;
  }
  failed(): null {
    return null;
  }
  replay(requestId: string): Replay | undefined {
    if (this.open?.view.requestId !== requestId) return undefined;
    const chunks = this.open.chunks.map((body, seq) => ({ seq, body }));
    return { turn: this.open.view, chunks, state: "live" };
  }
  transcript(): UIMessage[] {
    return [];
  }
  rememberClient(): void {}
}

export function userMessage(id: string, text = id): UIMessage {
  return { id, role: "user", parts: [{ type: "text", text }] };
}

export function answer(id: string, text = id): UIMessage {
  return { id, role: "assistant", parts: [{ type: "text", text, state: "done" }] };
}
