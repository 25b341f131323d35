// What of a `beforeTurn` answer is taken over: the fields that its permission allows, each checked, so that no answer makes
// the model call fail. Pure.
import { modelMessageSchema } from "ai";
import { unpairedCallIds } from "../../model/index.ts";
import { isObject } from "../../util/json.ts";
import type { TurnAccess } from "./permissions.ts";

/** What the turn is like before the change. */
export interface TurnBounds {
  readonly toolNames: readonly string[];
  readonly maxSteps: number;
}

type Check = (value: unknown, bounds: TurnBounds) => unknown;

const number: Check = (value) => (typeof value === "number" && Number.isFinite(value) ? value : undefined);
const atLeastZero: Check = (value) => (typeof value === "number" && value >= 0 && value < Infinity ? value : undefined);
const count: Check = (value) => (Number.isInteger(value) && Number(value) >= 0 ? value : undefined);
const positive: Check = (value) => (Number.isInteger(value) && Number(value) > 0 ? value : undefined);
const flag: Check = (value) => (typeof value === "boolean" ? value : undefined);
const texts: Check = (value) =>
  Array.isArray(value) && value.length <= 100 && value.every((one) => typeof one === "string") ? value : undefined;
const known: Check = (value, { toolNames }) =>
  Array.isArray(value) ? toolNames.filter((name) => value.includes(name)) : undefined;
const fewerSteps: Check = (value, { maxSteps }) =>
  Number.isInteger(value) && Number(value) > 0 ? Math.min(Number(value), maxSteps) : undefined;

/** What `tune` allows. */
const TUNED: Readonly<Record<string, Check>> = {
  maxOutputTokens: positive,
  temperature: atLeastZero,
  topP: atLeastZero,
  topK: atLeastZero,
  presencePenalty: number,
  frequencyPenalty: number,
  stopSequences: texts,
  seed: (value) => (Number.isInteger(value) ? value : undefined),
  maxRetries: (value) => (count(value, NO_BOUNDS) === undefined ? undefined : Math.min(Number(value), 10)),
  timeout: (value) => (typeof value === "number" ? positive(value, NO_BOUNDS) : timeouts(value)),
  sendReasoning: flag,
  activeTools: known,
  maxSteps: fewerSteps
};

/** What `rewrite` allows beyond that, or in another way. */
const REWRITTEN: Readonly<Record<string, Check>> = {
  maxSteps: positive,
  system: (value) => (typeof value === "string" ? value : undefined),
  messages: messagesOf,
  toolChoice: toolChoiceOf,
  headers: headersOf,
  providerOptions: (value) => (isObject(value) && Object.values(value).every(isObject) ? value : undefined)
};

const NO_BOUNDS: TurnBounds = { toolNames: [], maxSteps: Infinity };

export interface TurnChanges {
  readonly fields: Readonly<Record<string, unknown>>;
  /** Fields of the answer that are not allowed, not known or not usable. */
  readonly ignored: readonly string[];
}

export function turnChangesOf(answer: unknown, access: TurnAccess, bounds: TurnBounds): TurnChanges {
  if (!isObject(answer)) return { fields: {}, ignored: [] };
  const checks = access === "observe" ? {} : access === "tune" ? TUNED : { ...TUNED, ...REWRITTEN };
  const fields: Record<string, unknown> = {};
  const ignored: string[] = [];
  for (const [name, value] of Object.entries(withSystem(answer))) {
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined;
    const taken = check?.(value, bounds);
    if (taken === undefined) ignored.push(name.slice(0, 50));
    else fields[name] = taken;
  }
  return { fields, ignored: ignored.slice(0, 20) };
}

/** `instructions` is the system prompt under its name in AI SDK 7. */
function withSystem({ instructions, ...answer }: Record<string, unknown>): Record<string, unknown> {
  return instructions === undefined || answer["system"] !== undefined ? answer : { ...answer, system: instructions };
}

/** Later answers win; `headers` and `providerOptions` are joined key by key. */
export function mergeTurnChanges<Config extends object>(config: Config, { fields }: TurnChanges): Config {
  const joined: Record<string, unknown> = { ...fields };
  for (const name of ["headers", "providerOptions"]) {
    const earlier: unknown = Reflect.get(config, name);
    const later = fields[name];
    if (isObject(earlier) && isObject(later)) joined[name] = { ...earlier, ...later };
  }
  return withPossibleChoice({ ...config, ...joined });
}

/** A tool that must be called and is not offered would fail the call. */
function withPossibleChoice<Config extends { toolChoice?: unknown; activeTools?: unknown }>(config: Config): Config {
  const { toolChoice, activeTools, ...others } = config;
  if (toolChoice === undefined || toolChoice === "auto" || toolChoice === "none" || !Array.isArray(activeTools))
    return config;
  const isPossible = isObject(toolChoice) ? activeTools.includes(toolChoice["toolName"]) : activeTools.length > 0;
  // Without the choice it is a configuration still.
  return isPossible ? config : ({ ...others, activeTools } as Config);
}

function timeouts(value: unknown): unknown {
  const names = ["totalMs", "stepMs", "chunkMs"];
  const isUsable =
    isObject(value) &&
    Object.entries(value).every(([name, one]) => names.includes(name) && positive(one, NO_BOUNDS) !== undefined);
  return isUsable ? value : undefined;
}

function messagesOf(value: unknown): unknown {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const parsed = modelMessageSchema.array().safeParse(value);
  // A call without a result makes the provider refuse the request.
  return parsed.success && unpairedCallIds(parsed.data).length === 0 ? parsed.data : undefined;
}

function toolChoiceOf(value: unknown, { toolNames }: TurnBounds): unknown {
  if (value === "auto" || value === "none" || value === "required") return value;
  if (!isObject(value) || value["type"] !== "tool") return undefined;
  const { toolName } = value;
  return typeof toolName === "string" && toolNames.includes(toolName) ? { type: "tool", toolName } : undefined;
}

function headersOf(value: unknown): unknown {
  if (!isObject(value)) return undefined;
  try {
    const entries = Object.entries(value).filter(([, one]) => typeof one === "string");
    void new Headers(Object.fromEntries(entries) as Record<string, string>);
    return Object.fromEntries(entries);
  } catch {
    // No valid name or value of a header.
    return undefined;
  }
}
