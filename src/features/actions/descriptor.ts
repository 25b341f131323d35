// What an action is: a checked, frozen description of a tool with side effects. Nothing runs here. Wrong descriptions
// are refused when they are written, not when a model calls them.
import type { FlexibleSchema, ModelMessage } from "ai";
import type {
  ActionKind,
  ActionRisk,
  ActionsFeature,
  ApproversRule,
  EscalationRule,
  ReplyAttachment
} from "../../feature/approval-contract.ts";
import { readEscalationTime } from "../approvals/escalation.ts";
import type { SpentAmount } from "../../feature/budget-contract.ts";
import type { CarriesFeature } from "../../feature/feature.ts";
import type { Think } from "../../think/think.ts";
import { definitionErrors } from "./errors.ts";

/** Milliseconds an execution may take when the action does not say. */
export const DEFAULT_TIMEOUT_MS = 30_000;
/** Timers of the platform cannot be longer. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;
/** What every provider accepts as the name of a tool. */
const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;

type MaybePromise<T> = T | PromiseLike<T>;
/** A callback that decides about a call. It may run more than once for one call: it must have no side effects. */
type Policy<Input, Answer> = (call: { input: Input; ctx: ActionContext }) => MaybePromise<Answer>;

export interface ActionConfig<Input, Output> {
  /** What the model reads about the tool. */
  description: string;
  /** A Zod schema, or the SDK's `jsonSchema`. It checks and types the input. */
  inputSchema: FlexibleSchema<Input>;
  execute: (input: NoInfer<Input>, ctx: ActionContext) => MaybePromise<Output>;
  /** Checks what `execute` returned. A mismatch is an error the model reads; the effect still counts as done. */
  outputSchema?: FlexibleSchema<NoInfer<Output>>;
  /** The tool's name; without it, the key in the map of `getActions()`. */
  name?: string;
  /** A stable name of the effect, never a time or a random value: the same key runs once and is replayed after. */
  idempotencyKey?: string | Policy<NoInfer<Input>, string>;
  /** What the turn must have been granted. */
  permissions?: readonly string[] | Policy<NoInfer<Input>, readonly string[]>;
  /** Whether a human must agree first. Absent: always for a kind that asks, never otherwise. */
  approval?: boolean | Policy<NoInfer<Input>, boolean>;
  /** What the human is asked; without it, the description. */
  approvalSummary?: string;
  approvalRisk?: ActionRisk;
  /** Who must approve, where it is not just one person. Of "durable-pause" only: their questions wait outside of a turn. */
  approvals?: ApproversRule;
  /** "approval-gated" when `approval` is set, else "server"; "durable-pause" only when said. */
  kind?: ActionKind;
  /** 0: no limit. */
  timeoutMs?: number;
}

const BRAND: unique symbol = Symbol.for("everthink.action") as typeof BRAND;

interface Described<Input, Output> {
  readonly [BRAND]: true;
  readonly kind: ActionKind;
  readonly timeoutMs: number;
  readonly config: Readonly<ActionConfig<Input, Output>>;
}

/** Made by `action()`; the values of `getActions()`. */
export interface Action<Input = unknown, Output = unknown>
  extends Described<Input, Output>, CarriesFeature<ActionsFeature> {}

/** An action whose input type does not matter any more: the schema has checked the value. */
// `never` accepts the parameters of every action; `call` in policies.ts is the one place that hands them a value.
export type AnyAction = Action<never, unknown>;

/** The descriptor without its feature. Throws ActionDefinitionError. */
export function describeAction<Input, Output>(config: ActionConfig<Input, Output>): Described<Input, Output> {
  check(config);
  return {
    [BRAND]: true,
    kind: config.kind ?? (isGiven(config.approval) ? "approval-gated" : "server"),
    timeoutMs: config.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    config: Object.freeze({ ...config })
  };
}

export function isAction(value: unknown): value is AnyAction {
  return typeof value === "object" && value !== null && BRAND in value && value[BRAND] === true;
}

/** The actions of a map under the names the model calls them by. Throws ActionDefinitionError. */
export function namedActions(map: unknown): Map<string, AnyAction> {
  if (typeof map !== "object" || map === null || Array.isArray(map)) {
    throw definitionErrors.ActionDefinitionError("getActions() must return an object of actions.");
  }
  const named = new Map<string, AnyAction>();
  for (const key of Reflect.ownKeys(map)) {
    if (typeof key !== "string")
      throw definitionErrors.ActionDefinitionError("getActions() has a key that is not a text.");
    const value: unknown = Reflect.get(map, key);
    // `{ refund: mayRefund ? refund : undefined }` is how a class leaves one out.
    if (value === undefined) continue;
    if (!isAction(value)) {
      throw definitionErrors.ActionDefinitionError(
        `getActions() has "${key}", which is not an action.`,
        "Make it with action()."
      );
    }
    const name = value.config.name ?? key;
    checkName(name);
    if (named.has(name)) throw definitionErrors.ActionDefinitionError(`getActions() has two actions named "${name}".`);
    named.set(name, value);
  }
  return named;
}

const KINDS: ReadonlySet<unknown> = new Set(["server", "approval-gated", "durable-pause"] satisfies ActionKind[]);
const RISKS: ReadonlySet<unknown> = new Set(["low", "medium", "high"] satisfies ActionRisk[]);

/** Types are erased: JavaScript callers and casts arrive here too. */
type Unchecked = { readonly [Key in keyof ActionConfig<never, never>]?: unknown };

function check(config: Unchecked): void {
  if (typeof config !== "object" || config === null)
    throw definitionErrors.ActionDefinitionError("action() needs a description object.");
  const refuse = (what: string): never => {
    throw definitionErrors.ActionDefinitionError(
      `This action ${what}.`,
      `It is described as: ${String(config.description)}`
    );
  };
  if (typeof config.description !== "string" || config.description.trim() === "") refuse("has no description");
  if (!isSchema(config.inputSchema)) refuse("has no inputSchema");
  if (typeof config.execute !== "function") refuse("has no execute function");
  if (config.outputSchema !== undefined && !isSchema(config.outputSchema)) refuse("has an outputSchema that is none");
  if (config.name !== undefined) checkName(config.name);
  checkPolicies(config, refuse);
  checkApproval(config, refuse);
}

function checkPolicies(config: Unchecked, refuse: (what: string) => never): void {
  const { idempotencyKey: key, permissions, timeoutMs } = config;
  if (key !== undefined && typeof key !== "function" && (typeof key !== "string" || key === "")) {
    refuse("has an idempotencyKey that is neither a text nor a function");
  }
  if (permissions !== undefined && typeof permissions !== "function" && !isTextList(permissions)) {
    refuse("has permissions that are neither a list of texts nor a function");
  }
  if (timeoutMs !== undefined && !isTimeout(timeoutMs)) {
    refuse(`has a timeoutMs that is not a number from 0 to ${MAX_TIMEOUT_MS}`);
  }
}

function checkApproval(config: Unchecked, refuse: (what: string) => never): void {
  const { approval, kind, approvalSummary, approvalRisk, approvals } = config;
  if (approval !== undefined && typeof approval !== "boolean" && typeof approval !== "function") {
    refuse("has an approval that is neither a boolean nor a function");
  }
  if (kind !== undefined && !KINDS.has(kind)) refuse(`has an unknown kind "${String(kind)}"`);
  if (kind !== undefined && kind !== "server" && approval === false) {
    refuse(`is of the kind "${kind}" with approval: false, so no human would ever be asked`);
  }
  if (kind === "server" && isGiven(approval)) refuse('has an approval, which the kind "server" would ignore');
  if (approvalSummary !== undefined && typeof approvalSummary !== "string")
    refuse("has an approvalSummary that is no text");
  if (approvals !== undefined && kind !== "durable-pause") refuse('has approvals, which need the kind "durable-pause"');
  if (approvals !== undefined && !isRule(approvals))
    refuse(
      `has approvals that cannot be: required from 1 to ${MAX_APPROVERS}, from a list of so many names or a function, ` +
        `escalate with a time such as "4 hours" and to a list of names or a function`
    );
  if (approvalRisk !== undefined && !RISKS.has(approvalRisk)) refuse(`has an unknown risk "${String(approvalRisk)}"`);
}

const MAX_APPROVERS = 20;

function isRule(rule: unknown): boolean {
  if (typeof rule !== "object" || rule === null) return false;
  const { required = 1, from, escalate } = rule as Unknown<ApproversRule>;
  if (!isPeople(from) || !isEnough(from, required)) return false;
  if (escalate === undefined) return true;
  if (typeof escalate !== "object" || escalate === null) return false;
  const { after, to, required: requiredThen = required } = escalate as Unknown<EscalationRule>;
  const all = isTextList(from) && isTextList(to) ? [...from, ...to] : undefined;
  const isGroup = to !== undefined && isPeople(to) && (to as { readonly length: number }).length > 0;
  return readEscalationTime(after) !== undefined && isGroup && isEnough(all, requiredThen);
}

type Unknown<Rule> = { readonly [Key in keyof Rule]?: unknown };

function isPeople(people: unknown): boolean {
  return people === undefined || typeof people === "function" || isTextList(people);
}

/** A list must have so many; a function may know as many as it likes. */
function isEnough(people: unknown, required: unknown): boolean {
  const isCount = Number.isInteger(required) && Number(required) >= 1 && Number(required) <= MAX_APPROVERS;
  return isCount && (!isTextList(people) || new Set(people).size >= Number(required));
}

function checkName(name: unknown): void {
  if (typeof name === "string" && TOOL_NAME.test(name)) return;
  throw definitionErrors.ActionDefinitionError(
    `"${String(name)}" cannot be the name of an action.`,
    "Letters, digits, _ and -, at most 64: what every provider accepts."
  );
}

/** Zod schemas and the SDK's are objects, a lazy schema is a function. */
function isSchema(schema: unknown): boolean {
  return (typeof schema === "object" && schema !== null) || typeof schema === "function";
}

export function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string" && item !== "");
}

function isGiven(approval: unknown): boolean {
  return approval !== undefined && approval !== false;
}

function isTimeout(value: unknown): boolean {
  return typeof value === "number" && value >= 0 && value <= MAX_TIMEOUT_MS;
}

/** What an action's callbacks are given. */
export interface ActionContext {
  readonly agent: Think;
  readonly env: Cloudflare.Env;
  readonly requestId: string;
  readonly toolCallId: string;
  /** What the model had read when it made the call. Empty when a parked call runs after its approval. */
  readonly messages: ReadonlyArray<ModelMessage>;
  /** Fires when the turn is cancelled and after `timeoutMs`. */
  readonly signal: AbortSignal;
  /** Records something to deliver with the answer. Counts only if `execute` succeeds; elsewhere it does nothing. */
  attachReply(attachment: ReplyAttachment): void;
  /** Counts a cost of its own for the budgets of the turn, once per call and `id`. Nothing in a class without budgets. */
  spend(amount: SpentAmount, id?: string): Promise<void>;
}
