// Tools that a person runs by hand: each run is a turn whose model makes exactly that call and asks no provider. So it passes
// what every call passes, and is recorded as what it is.
import type { Tool } from "ai";
import type { TurnPart } from "../../feature/feature.ts";
import { featureErrors } from "../../feature/errors.ts";
import type { ChatServices } from "../../feature/services.ts";
import { groupOfTool } from "../../feature/tool-discovery.ts";
import { installedSdk, isToolPart, oneCallModel, type ChosenCall } from "../../model/index.ts";
import { isContinuation, type TurnView } from "../../turn/turn.ts";
import { isObject, type Json } from "../../util/json.ts";
import { shownText } from "./shown-text.ts";
import type { ShownText } from "./views.ts";

/** How such a turn is started. */
const TRIGGER = "by-hand";
/** Of its call: what goes on when the call was decided knows it by this. */
const CALL_PREFIX = "by-hand-";
const MAX_TOOLS = 500;
const DESCRIPTION_CHARS = 2_000;

/** `GET tools`: those of a turn that would start now. */
export interface ToolsView {
  readonly tools: readonly ShownTool[];
  readonly isCut: boolean;
  /** Null: they may be run. Otherwise why not. */
  readonly refusal: string | null;
}

export interface ShownTool {
  readonly name: string;
  /** Where it comes from: "tools", "actions", "workspace", "mcp", "extensions", … */
  readonly layer: string | null;
  /** The MCP server or extension. */
  readonly group: string | null;
  readonly description: ShownText | null;
  /** A JSON schema; null: there is none that can be shown. */
  readonly inputSchema: Json;
  /** It runs here. Otherwise a client or the provider runs it. */
  readonly canRun: boolean;
  /** "sometimes": that depends on the input. */
  readonly needsApproval: "never" | "sometimes" | "always";
  readonly isDeferred: boolean;
}

/** `POST run`: what was started. Its timeline is at `turns/<turnId>`. */
export interface StartedRun {
  readonly turnId: string;
  readonly requestId: string;
  readonly toolCallId: string;
}

export async function listTools(services: ChatServices, refusal: string | null): Promise<ToolsView> {
  const { merged, offered } = await services.previewTurn(undefined, []);
  const names = Object.keys(merged.tools).sort();
  const tools = await Promise.all(
    names.slice(0, MAX_TOOLS).flatMap((name) => {
      const tool = merged.tools[name];
      const layer = merged.layerOf.get(name);
      const group = groupOfTool(tool, layer);
      return tool === undefined
        ? []
        : [shownTool(tool, { name, layer: layer ?? null, group, isDeferred: !offered.includes(name) })];
    })
  );
  return { tools, isCut: names.length > MAX_TOOLS, refusal };
}

async function shownTool(
  tool: Tool,
  known: Pick<ShownTool, "name" | "layer" | "isDeferred"> & { readonly group: ReturnType<typeof groupOfTool> }
): Promise<ShownTool> {
  const { description, inputSchema, needsApproval } = tool;
  const { group, ...shown } = known;
  const isNamed = group?.kind === "server" || group?.kind === "extension";
  return {
    ...shown,
    group: isNamed ? group.name : null,
    description: typeof description === "string" ? shownText(description, DESCRIPTION_CHARS) : null,
    inputSchema: await schemaOf(inputSchema),
    canRun: typeof tool.execute === "function",
    needsApproval: typeof needsApproval === "function" ? "sometimes" : needsApproval === true ? "always" : "never"
  };
}

async function schemaOf(schema: unknown): Promise<Json> {
  try {
    return JSON.parse(JSON.stringify(await installedSdk().inputJsonSchema(schema))) as Json;
  } catch {
    // A schema that cannot be shown can still be run, with JSON that is typed.
    return null;
  }
}

/** Throws a ThinkError for a tool that cannot be run here, and for input that is not what it takes. */
export async function runTool(
  services: ChatServices,
  { toolName, input }: { readonly toolName: string; readonly input: unknown }
): Promise<StartedRun> {
  const { turns, ids, previewTurn, validate } = services;
  const { merged } = await previewTurn(undefined, []);
  const tool = Object.hasOwn(merged.tools, toolName) ? merged.tools[toolName] : undefined;
  if (typeof tool?.execute !== "function") throw featureErrors.ToolNotRunnableError(toolName);
  const checked = await validate(tool.inputSchema, input);
  if (!checked.ok) throw featureErrors.HandInputError(toolName, checked.error);
  const [requestId, toolCallId] = [ids.next(), `${CALL_PREFIX}${ids.next()}`];
  const call = { toolCallId, toolName, input: input as Json };
  const ticket = turns.admit({
    requestId,
    trigger: TRIGGER,
    // What the person does is part of the conversation, as what the model reads of it next says.
    input: [
      {
        id: ids.next(),
        role: "user",
        parts: [{ type: "text", text: `(The developer runs the tool "${toolName}" by hand.)` }]
      }
    ],
    body: { byHand: call },
    clientTools: []
  });
  return { turnId: ticket.turnId, requestId, toolCallId };
}

/** The model of such a turn, of each of its attempts, and of what goes on when its call was decided. */
export function handPart(services: ChatServices, turn: TurnView): TurnPart | undefined {
  const call = turn.trigger === TRIGGER ? callIn(turn.body) : undefined;
  if (call === undefined && !goesOnByHand(services, turn)) return undefined;
  const model = oneCallModel(call);
  return {
    chooseModel: () => model,
    configure: async ({ tools }, config) => {
      const { activeTools: _active, toolChoice: _choice, ...others } = config;
      const chosen = call && tools[call.toolName];
      // A deferred tool is offered like one that `beforeTurn` adds.
      return { ...others, model, ...(call && chosen && { tools: { ...config.tools, [call.toolName]: chosen } }) };
    },
    beforeStep: () => ({ model })
  };
}

/** Written by `runTool`. */
function callIn(body: TurnView["body"]): ChosenCall | undefined {
  const call = body?.["byHand"];
  if (!isObject(call)) return undefined;
  const { toolCallId, toolName, input } = call;
  return typeof toolCallId === "string" && typeof toolName === "string" ? { toolCallId, toolName, input } : undefined;
}

/** In a conversation that has gone on meanwhile, the model goes on. */
function goesOnByHand({ transcript }: ChatServices, turn: TurnView): boolean {
  if (!isContinuation(turn)) return false;
  const answer = transcript.get(turn.resolvesMessageId ?? turn.messageId) ?? transcript.leaf();
  const calls = answer?.parts.flatMap((part) => (isToolPart(part) ? [part.toolCallId] : []));
  return calls?.at(-1)?.startsWith(CALL_PREFIX) ?? false;
}
