// The agent that is killed: a Think with a model that goes on from wherever the prompt stands, and tools that count their
// side effects in the object's own database, so that the counts survive what the process does not.
import { tool, type ToolSet } from "ai";
import { agentTool, Think, type TurnConfig, type TurnContext } from "everthink";
import { routeAgentRequest } from "everthink/agent";
import { z } from "zod";
import { decodeFrame, unpackBatch } from "../../../src/journal/batch.ts";
import { planModel } from "../../../src/testing/model/plan-model.ts";
import { ok } from "../../../src/util/result.ts";
import { DIFFERENTLY, type Effect, type StoredState, GUIDE_PLANS, PLANS } from "./trip.ts";

interface Env {
  Survivor: DurableObjectNamespace<Survivor>;
}

/** Between two pieces of an answer: a round takes a second or two, so that kills fall into every part of it. */
const PIECE_MS = 6;
const TOOL_MS = 40;

const city = z.object({ city: z.string(), nights: z.number().optional() });

export class Survivor extends Think<Env> {
  // Short, so that recovery by the alarm alone takes a moment and not half a minute.
  static override options = { keepAliveIntervalMs: 300 };

  override onStart(): void {
    this
      .sql`CREATE TABLE IF NOT EXISTS guides (call_id TEXT, request_id TEXT, ended INTEGER, PRIMARY KEY (call_id, request_id))`;
    this.sql`CREATE TABLE IF NOT EXISTS effects (call_id TEXT PRIMARY KEY, tool TEXT, began INTEGER, ended INTEGER)`;
  }

  override getModel() {
    return planModel(PLANS, { boundary: () => scheduler.wait(PIECE_MS), pieceLength: 8 });
  }

  override getTools(): ToolSet {
    return {
      bookHotel: tool({
        inputSchema: city,
        execute: async (input, { toolCallId }) => {
          await this.#effect("bookHotel", toolCallId);
          return { booked: input.city };
        }
      }),
      bookTrain: tool({
        inputSchema: city,
        execute: async (input, { toolCallId }): Promise<{ booked: string }> => {
          await this.#effect("bookTrain", toolCallId);
          throw new Error(`The train to ${input.city} is full.`);
        }
      }),
      askGuide: agentTool(Guide, {
        description: "Asks a guide",
        inputSchema: z.object({ about: z.string() })
      }),
      pay: tool({
        inputSchema: z.object({ amount: z.number() }),
        needsApproval: true,
        execute: async ({ amount }, { toolCallId }) => {
          await this.#effect("pay", toolCallId);
          return { paid: amount };
        }
      })
    };
  }

  guideBegan(runId: string, requestId: string): void {
    this.sql`INSERT OR IGNORE INTO guides VALUES (${this.#callOf(runId)}, ${requestId}, 0)`;
  }

  guideEnded(runId: string): void {
    this.sql`UPDATE guides SET ended = 1 WHERE call_id = ${this.#callOf(runId)}`;
  }

  #callOf(runId: string): string {
    return this.listAgentToolRuns().find((run) => run.runId === runId)?.parentToolCallId ?? runId;
  }

  override async beforeTurn({ body, system }: TurnContext): Promise<TurnConfig> {
    await scheduler.wait(PIECE_MS);
    return { system: body?.["tone"] === "different" ? `${system} ${DIFFERENTLY}` : system };
  }

  override async onRequest(request: Request): Promise<Response> {
    if (!new URL(request.url).pathname.endsWith("/state")) return new Response("Not found", { status: 404 });
    const open = this.#has("cf_conversations")
      ? this.sql<{ turns: string }>`SELECT open_turns AS turns FROM cf_conversations`
      : [];
    const state: StoredState = {
      // Of a sub-agent it is counted how many of its turns have begun for one call.
      effects: this.sql<Effect>`SELECT call_id AS callId, tool, began, ended FROM effects UNION ALL
        SELECT call_id, 'askGuide', COUNT(*), MAX(ended) FROM guides GROUP BY call_id`,
      settled: this.#settled(),
      openTurns: open.flatMap(({ turns }) => (turns === "[]" ? [] : [turns]))
    };
    return Response.json(state);
  }

  /** Tables are made by the first write. */
  #has(table: string): boolean {
    return this.sql`SELECT 1 FROM sqlite_master WHERE name = ${table}`.length > 0;
  }

  #settled(): StoredState["settled"] {
    if (!this.#has("cf_journal")) return [];
    const rows = this.sql<{ last: number; count: number; body: string | null }>`
      SELECT last, count, body FROM cf_journal ORDER BY last`;
    const frames = rows.flatMap((row) => unpackBatch(row, ok(row.body ?? "")));
    return frames.flatMap((frame) => {
      const record = decodeFrame(frame, true);
      if (!record.ok || record.value.type !== "turn-settled") return [];
      const { turnId, outcome } = record.value;
      return [{ turnId, outcome, sequence: frame.sequence }];
    });
  }

  /** Before and after it is time for a kill. */
  async #effect(name: string, callId: string): Promise<void> {
    this.sql`INSERT INTO effects VALUES (${callId}, ${name}, 1, 0) ON CONFLICT DO UPDATE SET began = began + 1`;
    await scheduler.wait(TOOL_MS);
    this.sql`UPDATE effects SET ended = ended + 1 WHERE call_id = ${callId}`;
  }
}

/** A child of the agent that is killed, and killed with it. What it did is counted where its clear does not reach. */
export class Guide extends Think<Env> {
  override getModel() {
    return planModel(GUIDE_PLANS, { boundary: () => scheduler.wait(PIECE_MS), pieceLength: 8 });
  }

  override async beforeTurn({ requestId }: TurnContext): Promise<void> {
    await (await this.parentAgent(Survivor)).guideBegan(this.name, requestId);
  }

  /** Asked before the run's end is written. */
  override async getAgentToolOutput(): Promise<undefined> {
    await (await this.parentAgent(Survivor)).guideEnded(this.name);
  }
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    return (await routeAgentRequest(request, env)) ?? new Response("Not found", { status: 404 });
  }
};
