// `agent({ … })`: an agent as one object instead of a class. Every option stands for one member of `Think`; which, is the
// tables below, so that an option and the member it feeds cannot drift apart. Runs in the Worker.
import type { LanguageModel } from "ai";
import { Think } from "../think/think.ts";
import { ThinkError } from "../util/errors.ts";

/** Under which a definition is recognised, also one made by another copy of the package. */
export const THINK_AGENT_DEFINITION: unique symbol = Symbol.for(
  "cloudflare.think.agent.definition"
) as typeof THINK_AGENT_DEFINITION;

/** Options that are a value, or a function of `env`, and the method that returns it. */
const METHODS = {
  model: "getModel",
  prompt: "getSystemPrompt",
  tools: "getTools",
  actions: "getActions",
  skills: "getSkills",
  schedules: "getScheduledTasks",
  timezone: "getDefaultTimezone",
  messengers: "getMessengers",
  extensions: "getExtensions",
  channels: "configureChannels",
  features: "getFeatures"
} as const satisfies Record<string, keyof Think>;

/** Options that are a value, and the field of the same name. */
const FIELDS = [
  "maxSteps",
  "sendReasoning",
  "messageMetadata",
  "sendUsage",
  "messageConcurrency",
  "allowClientToolOverrides",
  "chatRecovery",
  "chatStreamStallTimeoutMs",
  "chatStreamStallIncludesTools",
  "contextOverflow",
  "historyTruncation",
  "mediaEviction",
  "maxTurnTokens",
  "maxAnswerBytes",
  "maxUnstoredTextMs",
  "hydrationByteBudget",
  "actionLedgerPendingRetryLeaseMs",
  "actionLedgerRetention",
  "actionPendingApprovalTtlMs",
  "budgetUnpricedModels",
  "workspaceTools",
  "workspaceBash",
  "plainChat",
  "openAIEndpoint",
  "extensionLoader",
  "hookTimeout",
  "waitForMcpConnections",
  "maxMcpTools",
  "initialState"
] as const satisfies readonly (keyof Think)[];

/** Options that are a function, called with what the method of the same name is given and, last, the agent. */
const HOOKS = [
  "onStart",
  "configureSession",
  "authorizeTurn",
  "authorizeAction",
  "authorizeApproval",
  "authorizeSubmission",
  "authorizeWorkspace",
  "authorizeInspection",
  "authorizeMessengerConversation",
  "identifyApprover",
  "mcpApproval",
  "beforeTurn",
  "beforeStep",
  "beforeToolCall",
  "afterToolCall",
  "onStepFinish",
  "onStepEnd",
  "onChunk",
  "onChatResponse",
  "onChatError",
  "onChatRecovery",
  "classifyChatError",
  "renderAttachment",
  "inspectionActs",
  "inspectionModels",
  "getBudgets",
  "getPrices",
  "onConnect",
  "onMessage",
  "onClose",
  "onRequest",
  "onStateChanged",
  "validateStateChange",
  "shouldConnectionBeReadonly",
  "onFiberRecovered",
  "onAgentToolStart",
  "onAgentToolFinish",
  "onBeforeSubAgent"
] as const satisfies readonly (keyof Think)[];

type Member<Name extends keyof Think> = Think[Name];
type Returned<Name extends keyof Think> = Member<Name> extends (...args: never[]) => infer Result ? Result : never;
type HookOf<Name extends keyof Think> =
  Member<Name> extends (...args: infer Args) => infer Result ? (...args: [...Args, agent: Think]) => Result : never;
type Runner = Returned<"getSkillScriptRunner">;
type Method = (agent: Think, ...args: never[]) => unknown;

export type AgentOptions<Env = unknown> = {
  /** The model that answers, or a list in which each stands in for those before it, or a function of `env`. */
  readonly model: LanguageModel | readonly LanguageModel[] | ((env: Env) => LanguageModel | readonly LanguageModel[]);
} & {
  readonly [Option in Exclude<keyof typeof METHODS, "model">]?:
    Returned<(typeof METHODS)[Option]> | ((env: Env) => Returned<(typeof METHODS)[Option]>);
} & {
  readonly [Field in (typeof FIELDS)[number]]?: Member<Field>;
} & {
  readonly [Hook in (typeof HOOKS)[number]]?: HookOf<Hook>;
} & {
  /** Runs the scripts of skills: a runner, or a function of the agent, whose files it may give to scripts. */
  readonly skillScriptRunner?: Runner | ((agent: Think) => Runner);
  /** Methods that clients may call. Each is given the agent, then the client's arguments. */
  readonly callables?: Readonly<Record<string, Method>>;
};

export interface AgentDefinition<Env = unknown> {
  readonly [THINK_AGENT_DEFINITION]: true;
  readonly kind: "think-agent-definition";
  readonly options: AgentOptions<Env>;
  /** The class it stands for, under a name. */
  createClass(name: string): DefinedAgentClass;
}

export type DefinedAgentClass = new (ctx: DurableObjectState, env: unknown) => Think;

export class AgentDefinitionError extends ThinkError {
  constructor(message: string, hint?: string) {
    super({ code: "agent-definition", message, hint });
  }
}

/**
 * Declares an agent.
 *
 * @example
 * export default agent({ model: (env: Env) => createModel(env), prompt: "You help with cooking." });
 */
export function agent<Env = unknown>(options: AgentOptions<Env>): AgentDefinition<Env> {
  checkOptions(options);
  return {
    [THINK_AGENT_DEFINITION]: true,
    kind: "think-agent-definition",
    options,
    createClass: (name) => definedClass(name, options)
  };
}

export function isAgentDefinition(value: unknown): value is AgentDefinition {
  return (
    typeof value === "object" &&
    value !== null &&
    Reflect.get(value, THINK_AGENT_DEFINITION) === true &&
    typeof Reflect.get(value, "createClass") === "function"
  );
}

const KNOWN: ReadonlySet<string> = new Set([
  ...Object.keys(METHODS),
  ...FIELDS,
  ...HOOKS,
  "skillScriptRunner",
  "callables"
]);

function checkOptions(options: object): void {
  const unknown = Object.keys(options).find((key) => !KNOWN.has(key));
  if (unknown !== undefined) {
    const hint = `Options: ${[...KNOWN].join(", ")}. For anything else write a class that extends Think.`;
    throw new AgentDefinitionError(`agent() has no option "${unknown}".`, hint);
  }
  if (Reflect.get(options, "model") === undefined) throw new AgentDefinitionError("agent() needs a model.");
  for (const hook of HOOKS) {
    const value: unknown = Reflect.get(options, hook);
    if (value !== undefined && typeof value !== "function") {
      throw new AgentDefinitionError(`The option ${hook} of agent() must be a function.`);
    }
  }
  for (const name of Object.keys({ ...(Reflect.get(options, "callables") as object | undefined) })) {
    if (name in Think.prototype) throw new AgentDefinitionError(`callables.${name} would replace a method of Think.`);
  }
}

function definedClass(name: string, options: object): DefinedAgentClass {
  const fields = FIELDS.filter((field) => Reflect.get(options, field) !== undefined);
  const callables = { ...(Reflect.get(options, "callables") as Record<string, Method> | undefined) };
  class Defined extends Think {
    /** One of the options that are put on the prototype below; without it the class says that there is no model. */
    declare getModel: Think["getModel"];
    static override callables = [...(Think.callables as readonly string[]), ...Object.keys(callables)];

    constructor(ctx: DurableObjectState, env: unknown) {
      super(ctx, env);
      for (const field of fields) Reflect.set(this, field, Reflect.get(options, field));
    }
  }
  const define = (method: string, value: (this: Think, ...args: never[]) => unknown) =>
    Object.defineProperty(Defined.prototype, method, { value, writable: true, configurable: true });
  for (const [option, method] of Object.entries(METHODS)) {
    const given: unknown = Reflect.get(options, option);
    if (given === undefined) continue;
    define(method, function (this: Think) {
      return typeof given === "function" ? (given(Reflect.get(this, "env")) as unknown) : given;
    });
  }
  const runner: unknown = Reflect.get(options, "skillScriptRunner");
  if (runner !== undefined) {
    define("getSkillScriptRunner", function (this: Think) {
      return typeof runner === "function" ? (runner(this) as unknown) : runner;
    });
  }
  for (const hook of HOOKS) {
    const given: unknown = Reflect.get(options, hook);
    if (typeof given !== "function") continue;
    define(hook, function (this: Think, ...args: never[]) {
      return given(...args, this) as unknown;
    });
  }
  for (const [method, given] of Object.entries(callables)) {
    define(method, function (this: Think, ...args: never[]) {
      return given(this, ...args);
    });
  }
  Object.defineProperty(Defined, "name", { value: name, configurable: true });
  return Defined;
}
