// Which model answers, by variables: .dev.vars on this machine, secrets of the Worker on a server (.dev.vars.example lists
// them). A setting that cannot work is no crash: the offline model answers, and the page says what to change. On a server visitors
// are told nothing of that; the log is.
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { LanguageModel } from "ai";
import { offlineModel, type Plan } from "./offline-model.ts";

export interface ModelVariables {
  MODEL_PROVIDER?: string;
  MODEL?: string;
  OPENAI_API_KEY?: string;
  ANTHROPIC_API_KEY?: string;
  GOOGLE_GENERATIVE_AI_API_KEY?: string;
  WORKERS_AI_ACCOUNT_ID?: string;
  WORKERS_AI_API_TOKEN?: string;
  OPENAI_COMPATIBLE_URL?: string;
  OPENAI_COMPATIBLE_API_KEY?: string;
  OFFLINE_PACE_MS?: string;
  /** Set by `everthink dev`. */
  EVERTHINK_DEVELOPMENT?: string;
}

type Variable = keyof ModelVariables;

interface Provider {
  readonly name: string;
  /** All of them must be set. The first one decides that this provider is meant. */
  readonly needs: readonly [Variable, ...Variable[]];
  /** Used where MODEL is not set. */
  readonly model?: string;
  make(setting: (name: Variable) => string, model: string): LanguageModel;
}

/** With variables of several, the first one answers, unless MODEL_PROVIDER names another. */
const PROVIDERS: Readonly<Record<string, Provider>> = {
  openai: {
    name: "OpenAI",
    needs: ["OPENAI_API_KEY"],
    model: "gpt-5-mini",
    make: (setting, model) => createOpenAI({ apiKey: setting("OPENAI_API_KEY") })(model)
  },
  anthropic: {
    name: "Anthropic",
    needs: ["ANTHROPIC_API_KEY"],
    model: "claude-sonnet-5",
    make: (setting, model) => createAnthropic({ apiKey: setting("ANTHROPIC_API_KEY") })(model)
  },
  google: {
    name: "Google",
    needs: ["GOOGLE_GENERATIVE_AI_API_KEY"],
    model: "gemini-flash-latest",
    make: (setting, model) => createGoogleGenerativeAI({ apiKey: setting("GOOGLE_GENERATIVE_AI_API_KEY") })(model)
  },
  "workers-ai": {
    name: "Workers AI",
    needs: ["WORKERS_AI_API_TOKEN", "WORKERS_AI_ACCOUNT_ID"],
    model: "@cf/meta/llama-3.3-70b-instruct-fp8-fast",
    make: (setting, model) => {
      const account = encodeURIComponent(setting("WORKERS_AI_ACCOUNT_ID"));
      const baseURL = `https://api.cloudflare.com/client/v4/accounts/${account}/ai/v1`;
      return createOpenAICompatible({
        name: "workers-ai",
        baseURL,
        apiKey: setting("WORKERS_AI_API_TOKEN"),
        includeUsage: true
      })(model);
    }
  },
  compatible: {
    name: "Compatible server",
    needs: ["OPENAI_COMPATIBLE_URL", "MODEL"],
    make: (setting, model) => {
      const baseURL = setting("OPENAI_COMPATIBLE_URL");
      const apiKey = setting("OPENAI_COMPATIBLE_API_KEY") || undefined;
      return createOpenAICompatible({ name: "compatible", baseURL, apiKey, includeUsage: true })(model);
    }
  }
};

/** What the page says about the model. */
export interface ModelStatus {
  /** Such as "OpenAI gpt-5-mini". */
  readonly label: string;
  /** Why the offline model answers, and what to do about it. */
  readonly problem?: string;
}

/** `plans` are what the offline model can answer. */
export function chooseModel(env: ModelVariables, plans: readonly Plan[]): LanguageModel {
  const { use } = choose(env);
  return use ? use() : offlineModel(plans, env.OFFLINE_PACE_MS);
}

export function modelStatus(env: ModelVariables): ModelStatus {
  const { label, problem } = choose(env);
  if (problem === undefined) return { label };
  if (env.EVERTHINK_DEVELOPMENT === "1") return { label, problem: `${problem} Set it in .dev.vars, and start again.` };
  logOnce(`${problem} Set it with "npx wrangler secret put <NAME>", or deploy again with "npx everthink deploy".`);
  return { label, problem: "This assistant is not fully set up yet. A small script answers until it is." };
}

const logged = new Set<string>();

function logOnce(line: string): void {
  if (!logged.has(line)) console.error(line);
  logged.add(line);
}

const OFFLINE = "Offline model";

function choose(env: ModelVariables): ModelStatus & { readonly use?: () => LanguageModel } {
  const setting = (name: Variable) => env[name]?.trim() ?? "";
  const isSet = (name: Variable) => setting(name) !== "";
  const given = setting("MODEL_PROVIDER").toLowerCase();
  if (given === "offline") return { label: OFFLINE };
  const wanted = given || Object.keys(PROVIDERS).find((id) => isSet(PROVIDERS[id]?.needs[0] ?? "MODEL"));
  if (wanted === undefined) {
    const problem = "No model is set up, so a small offline model answers. A key is needed, such as OPENAI_API_KEY.";
    return { label: OFFLINE, problem };
  }
  const provider = Object.hasOwn(PROVIDERS, wanted) ? PROVIDERS[wanted] : undefined;
  if (!provider) {
    const known = ["offline", ...Object.keys(PROVIDERS)].join(", ");
    return { label: OFFLINE, problem: `MODEL_PROVIDER is "${wanted}"; it can be ${known}.` };
  }
  const { name, needs, model, make } = provider;
  const missing = needs.filter((variable) => !isSet(variable));
  if (missing.length > 0) {
    return { label: OFFLINE, problem: `${name} needs ${missing.join(" and ")}.` };
  }
  // Anything else cannot stand in a header.
  const garbled = needs.find((variable) => variable !== "MODEL" && !/^[\x21-\x7e]+$/.test(setting(variable)));
  if (garbled !== undefined) {
    return { label: OFFLINE, problem: `${garbled} holds spaces or characters that it cannot have.` };
  }
  const id = setting("MODEL") || (model ?? "");
  return { label: `${name} ${id}`, use: () => make(setting, id) };
}
