// Which model answers, decided from the environment alone. A wrong setting is a choice too: the offline model answers,
// and the page says what to change. Keys are in the choice and in nothing that is made for people. Pure.
import type { ModelProvider, ModelStatus } from "../shared/demo.ts";
import type { ModelEnv } from "./env.ts";

export type ModelProblem = NonNullable<ModelStatus["problem"]>;

export type ModelChoice =
  | { provider: "offline" }
  | { provider: HostedProvider; modelId: string; apiKey: string }
  | { provider: "compatible"; modelId: string; baseUrl: string; apiKey?: string }
  | { provider: ModelProvider; problem: ModelProblem };

/** A choice that can be tried. */
export type RemoteChoice = Exclude<ModelChoice, { provider: "offline" } | { problem: ModelProblem }>;

interface Hosted {
  readonly name: string;
  readonly key: "OPENAI_API_KEY" | "ANTHROPIC_API_KEY" | "GOOGLE_GENERATIVE_AI_API_KEY";
  readonly defaultModel: string;
}

/** With several keys, the first counts unless MODEL_PROVIDER says otherwise. */
export const HOSTED = {
  openai: { name: "OpenAI", key: "OPENAI_API_KEY", defaultModel: "gpt-5" },
  anthropic: { name: "Anthropic", key: "ANTHROPIC_API_KEY", defaultModel: "claude-sonnet-5" },
  google: { name: "Google", key: "GOOGLE_GENERATIVE_AI_API_KEY", defaultModel: "gemini-flash-latest" }
} as const satisfies Record<string, Hosted>;

export type HostedProvider = keyof typeof HOSTED;

const HOSTED_PROVIDERS = Object.keys(HOSTED).filter(isHosted);
const PROVIDERS: readonly string[] = ["offline", ...HOSTED_PROVIDERS, "compatible"];
const URL_EXAMPLE = "such as http://localhost:11434/v1 for Ollama";
const OFFLINE_LABEL = "Built-in offline model";

export function chooseModel(env: ModelEnv): ModelChoice {
  const wanted = setting(env, "MODEL_PROVIDER")?.toLowerCase() ?? firstConfigured(env);
  if (wanted === "offline") return { provider: "offline" };
  if (wanted === "compatible") return compatible(env);
  if (isHosted(wanted)) return hosted(env, wanted);
  return {
    provider: "offline",
    problem: {
      what: `MODEL_PROVIDER is "${wanted}", which is none of the known providers.`,
      fix: `Set MODEL_PROVIDER to one of ${PROVIDERS.join(", ")}, or remove it, and start again.`
    }
  };
}

/** What people are told. With a problem, the offline model answers in place of the chosen one. */
export function statusOf(choice: ModelChoice, problem?: ModelProblem): ModelStatus {
  const { provider } = choice;
  const found = problem ?? ("problem" in choice ? choice.problem : undefined);
  if (found) return { provider, label: OFFLINE_LABEL, problem: found };
  return { provider, label: "modelId" in choice ? `${providerName(provider)} ${choice.modelId}` : OFFLINE_LABEL };
}

export function providerName(provider: ModelProvider): string {
  if (isHosted(provider)) return HOSTED[provider].name;
  return provider === "offline" ? OFFLINE_LABEL : "Compatible server";
}

function isHosted(name: string): name is HostedProvider {
  return Object.hasOwn(HOSTED, name);
}

function firstConfigured(env: ModelEnv): ModelProvider {
  const withKey = HOSTED_PROVIDERS.find((provider) => setting(env, HOSTED[provider].key) !== undefined);
  if (withKey) return withKey;
  return setting(env, "OPENAI_COMPATIBLE_URL") === undefined ? "offline" : "compatible";
}

function hosted(env: ModelEnv, provider: HostedProvider): ModelChoice {
  const { key, defaultModel } = HOSTED[provider];
  const apiKey = setting(env, key);
  if (apiKey === undefined) {
    const problem = {
      what: `MODEL_PROVIDER is ${provider}, and ${key} is not set.`,
      fix: `Set ${key} and start again.`
    };
    return { provider, problem };
  }
  if (!isSendable(apiKey)) return { provider, problem: garbledKey(key) };
  return { provider, modelId: setting(env, "MODEL") ?? defaultModel, apiKey };
}

function compatible(env: ModelEnv): ModelChoice {
  const provider = "compatible";
  const baseUrl = setting(env, "OPENAI_COMPATIBLE_URL");
  const modelId = setting(env, "MODEL");
  const apiKey = setting(env, "OPENAI_COMPATIBLE_API_KEY");
  if (baseUrl === undefined) {
    const what = "MODEL_PROVIDER is compatible, and OPENAI_COMPATIBLE_URL is not set.";
    return { provider, problem: { what, fix: `Set OPENAI_COMPATIBLE_URL, ${URL_EXAMPLE}, and start again.` } };
  }
  if (!isWebAddress(baseUrl)) {
    const what = "OPENAI_COMPATIBLE_URL is not an address that starts with http:// or https://.";
    return { provider, problem: { what, fix: `Set it to the server's address, ${URL_EXAMPLE}, and start again.` } };
  }
  if (modelId === undefined) {
    const what = "OPENAI_COMPATIBLE_URL is set, and MODEL is not.";
    return {
      provider,
      problem: { what, fix: "Set MODEL to the name of a model that the server has, and start again." }
    };
  }
  if (apiKey !== undefined && !isSendable(apiKey))
    return { provider, problem: garbledKey("OPENAI_COMPATIBLE_API_KEY") };
  return { provider, modelId, baseUrl, ...(apiKey !== undefined && { apiKey }) };
}

function isWebAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

/** Anything else cannot stand in a header, and the platform's own error would repeat it. */
function isSendable(apiKey: string): boolean {
  return /^[\x21-\x7e]+$/.test(apiKey);
}

function garbledKey(name: keyof ModelEnv): ModelProblem {
  return {
    what: `${name} holds spaces or characters that no key has.`,
    fix: `Copy the key into ${name} once more and start again.`
  };
}

/** Undefined for what is not set; an empty text counts as not set. */
function setting(env: ModelEnv, name: keyof ModelEnv): string | undefined {
  const value = env[name]?.trim();
  return value === "" ? undefined : value;
}
