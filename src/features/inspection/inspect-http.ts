// The inspection API over HTTP, below `…/inspect/v1/`. Who may ask is checked by the caller, before anything here runs.
//   GET  agent, conversations, turns?before=&limit=, turns/<id>, turns/<id>/why, inbox, inbox/<id>?from=, state, file?path=,
//        table?name=&from=, costs
//   GET  turns/<id>/calls/<call id>?part=input|output&from=   more of a long input or output
//        chat, tools
//   POST decide, try; and, where the class lets inspectors take part: ask, withdraw, stop, run
import type { Decision } from "../../feature/approval-contract.ts";
import { readDecision } from "../approvals/approvals-http.ts";
import { readText } from "../../util/bytes.ts";
import { readCount } from "../../util/counts.ts";
import { decodePercent } from "../../util/decode-percent.ts";
import { errorMessage, ThinkError } from "../../util/errors.ts";
import { isJsonRequest, isObject, jsonResponse, parseJson } from "../../util/json.ts";
import type { StartedRun, ToolsView } from "./by-hand.ts";
import type { ChatView, ShownReceipt } from "./chat-view.ts";
import type { CostsView } from "./costs-view.ts";
import { DEFAULT_ROWS, MAX_ROWS, type TablePage, type TableView } from "./table-rows.ts";
import type {
  AgentView,
  ConversationsView,
  FileView,
  InboxView,
  ShownText,
  StateView,
  TryRequest,
  TryView,
  TurnsView,
  TurnTimeline,
  TurnWhy
} from "./views.ts";

const MAX_BODY_BYTES = 1024 * 1024;
const DEFAULT_TURNS = 50;
const MAX_TURNS = 100;

/**
 * What a request wants to do. "decide" changes the agent; "try" calls a model, which costs money; "act" takes part as the
 * developer: asks the agent, stops it, runs its tools.
 */
export type InspectionAccess = "read" | "decide" | "try" | "act";

export interface CallPart {
  readonly callId: string;
  readonly part: "input" | "output";
  readonly from: number;
}

/** A message for the agent, as the developer. */
export interface AskedMessage {
  /** Of the message: asked again under it, nothing is asked twice. */
  readonly id: string | undefined;
  readonly text: string;
  readonly kind: "steer" | "follow-up";
}

/** Undefined: there is no such thing. Only `decide` and what acts write. */
export interface InspectionSource {
  agent(): AgentView;
  conversations(): ConversationsView;
  turns(page: { before: number; limit: number }): TurnsView;
  turn(turnId: string): TurnTimeline | undefined;
  call(turnId: string, part: CallPart): ShownText | undefined;
  why(turnId: string): Promise<TurnWhy | undefined>;
  inbox(): InboxView;
  /** More of the input of what waits. */
  waitingInput(id: string, from: number): ShownText | undefined;
  state(): Promise<StateView>;
  file(path: string): Promise<FileView | undefined>;
  /** What the agent's tree has spent under its budgets, and its turns without limits. */
  costs(): Promise<CostsView>;
  /** The conversation for a page that takes part in it. */
  chat(): ChatView;
  /** The tools of a turn that would start now. */
  tools(): Promise<ToolsView>;
  ask(message: AskedMessage): Promise<ShownReceipt>;
  /** Takes back a message that waits. */
  withdraw(id: string): ShownReceipt;
  /** Stops what runs and waits, or the turn that runs after its step. */
  stop(after: "step" | undefined): { readonly stopped: boolean };
  run(toolName: string, input: unknown): Promise<StartedRun>;
  /** Rows of a table of the object. */
  table(name: string, page: TablePage): TableView | undefined;
  /** A sentence when it was refused. */
  decide(id: string, decision: Decision): Promise<{ readonly refused?: string }>;
  tryTurn(request: TryRequest, signal: AbortSignal): Promise<TryView | undefined>;
}

const ACTS: ReadonlySet<string> = new Set(["ask", "withdraw", "stop", "run"]);

/** What the path after "/inspect/v1/" asks for. */
export function accessOf({ method }: Request, path: string): InspectionAccess {
  if (method === "GET") return "read";
  return path === "try" ? "try" : ACTS.has(path) ? "act" : "decide";
}

export async function inspectionResponse(request: Request, path: string, source: InspectionSource): Promise<Response> {
  try {
    if (request.method === "GET") return await read(path, new URL(request.url).searchParams, source);
    if (request.method === "POST") return await change(request, path, source);
    return json({ error: "Method not allowed" }, 405);
  } catch (error) {
    if (error instanceof ThinkError) return json({ error: error.message, code: error.code }, 400);
    console.error(`An inspection failed: ${errorMessage(error)}`, error);
    return json({ error: "The view could not be read." }, 500);
  }
}

async function read(path: string, query: URLSearchParams, source: InspectionSource): Promise<Response> {
  const [view = "", id, what, callId, ...more] = path.split("/").map((part) => decodePercent(part) ?? part);
  if (more.length > 0) return notFound();
  if (view === "turns" && id !== undefined) {
    if (what === undefined) return found(source.turn(id));
    if (what === "why" && callId === undefined) return found(await source.why(id));
    return what === "calls" && callId !== undefined ? found(source.call(id, callPart(callId, query))) : notFound();
  }
  if (view === "inbox" && id !== undefined && what === undefined) {
    return found(source.waitingInput(id, readCount(query.get("from"), 0)));
  }
  if (id !== undefined) return notFound();
  switch (view) {
    case "agent":
      return json(source.agent());
    case "conversations":
      return json(source.conversations());
    case "turns":
      return json(
        source.turns({ before: readCount(query.get("before"), Number.MAX_SAFE_INTEGER), limit: limitOf(query) })
      );
    case "inbox":
      return json(source.inbox());
    case "state":
      return json(await source.state());
    case "costs":
      return json(await source.costs());
    case "chat":
      return json(source.chat());
    case "tools":
      return json(await source.tools());
    case "table":
      return found(source.table(query.get("name") ?? "", tablePage(query)));
    case "file":
      return found(await source.file(query.get("path") ?? ""));
    default:
      return notFound();
  }
}

async function change(request: Request, path: string, source: InspectionSource): Promise<Response> {
  if (path !== "decide" && path !== "try" && !ACTS.has(path)) return notFound();
  if (!isJsonRequest(request)) {
    return json({ error: "Send Content-Type: application/json." }, 415);
  }
  const text = await readText(request.body, MAX_BODY_BYTES);
  const body = text === undefined ? undefined : parseJson(text);
  if (!body?.ok || !isObject(body.value)) return json({ error: "Send an object as JSON." }, 400);
  switch (path) {
    case "decide":
      return decide(body.value, source);
    case "try":
      return tryAgain(body.value, source, request.signal);
    default:
      return act(path, body.value, source);
  }
}

/** Durable when it is answered. */
async function act(path: string, body: Record<string, unknown>, source: InspectionSource): Promise<Response> {
  const { id, text, kind = "steer", after, tool, input } = body;
  switch (path) {
    case "ask": {
      const isKnown = kind === "steer" || kind === "follow-up";
      const isNamed = id === undefined || typeof id === "string";
      if (typeof text !== "string" || text.trim() === "" || !isKnown || !isNamed)
        return json({ error: 'Send { "text": "…", "kind": "steer" | "follow-up" }.' }, 400);
      return json(await source.ask({ id, text, kind }), 202);
    }
    case "withdraw":
      if (typeof id !== "string") return json({ error: 'Send { "id": "…" }.' }, 400);
      return json(source.withdraw(id));
    case "stop":
      return json(source.stop(after === "step" ? after : undefined));
    default:
      if (typeof tool !== "string") return json({ error: 'Send { "tool": "…", "input": { … } }.' }, 400);
      return json(await source.run(tool, input ?? {}), 202);
  }
}

async function decide(body: Record<string, unknown>, source: InspectionSource): Promise<Response> {
  const { id } = body;
  const decision = readDecision(body);
  if (typeof id !== "string" || !decision)
    return json({ error: 'Send { "id": "…", "decision": "approve" | "reject" }.' }, 400);
  const { refused } = await source.decide(id, decision);
  return refused === undefined ? json({ decided: true }) : json({ error: refused }, 409);
}

async function tryAgain(
  body: Record<string, unknown>,
  source: InspectionSource,
  signal: AbortSignal | undefined
): Promise<Response> {
  const { turnId, system, model, question, without, toolResults } = body;
  if (typeof turnId !== "string") return json({ error: 'Send { "turnId": "…" } with what to change.' }, 400);
  const request: TryRequest = {
    turnId,
    system: typeof system === "string" ? system : undefined,
    model: typeof model === "string" && model !== "" ? model : undefined,
    question: typeof question === "string" ? question : undefined,
    without: Array.isArray(without) ? without.filter((id) => typeof id === "string") : undefined,
    toolResults: isObject(toolResults) ? toolResults : undefined
  };
  return found(await source.tryTurn(request, signal ?? new AbortController().signal));
}

function callPart(callId: string, query: URLSearchParams): CallPart {
  const part = query.get("part") === "input" ? "input" : "output";
  return { callId, part, from: readCount(query.get("from"), 0) };
}

function limitOf(query: URLSearchParams): number {
  return Math.min(MAX_TURNS, Math.max(1, readCount(query.get("limit"), DEFAULT_TURNS)));
}

function tablePage(query: URLSearchParams): TablePage {
  const limit = Math.min(MAX_ROWS, Math.max(1, readCount(query.get("limit"), DEFAULT_ROWS)));
  return { from: readCount(query.get("from"), 0), limit };
}

function found(view: object | undefined): Response {
  return view === undefined ? notFound() : json(view);
}

function notFound(): Response {
  return json({ error: "Not found" }, 404);
}

/** Without a reason for those who may not look: nothing is said to them. */
export function forbidden(reason = "Forbidden"): Response {
  return json({ error: reason }, 403);
}

/** Never a page: what is in it was written by users and models. */
function json(value: unknown, status = 200): Response {
  return jsonResponse(value, status, { "X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox" });
}
