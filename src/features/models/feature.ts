// Several models as a feature: gives each attempt its model, and says who is asked when that has failed. What it decides is
// recorded by the engine; what it remembers over turns is a row per provider. The rules are in choose.ts.
import type { LanguageModel, UIMessageChunk } from "ai";
import { beforeDeadline } from "../../host/deadline.ts";
import type { Feature, Roles, TurnPart } from "../../feature/feature.ts";
import type { TurnConfig, TurnContext } from "../../feature/hooks.ts";
import type { ChatServices } from "../../feature/services.ts";
import { isModelList } from "../../feature/settings.ts";
import { installedSdk, ModelCallError, StepHookError, type ModelObject } from "../../model/index.ts";
import { retryAfterMs } from "../../model/failure-classifier.ts";
import { failureSignals } from "../../model/failure-details.ts";
import type { ModelChoice, ModelFailure, NextDecision } from "../../turn/next-model.ts";
import type { TurnView } from "../../turn/turn.ts";
import { NO_STEP_USAGE as NO_USAGE } from "../../journal/folds/turn-fold.ts";
import { errorMessage, ThinkError } from "../../util/errors.ts";
import { isObject } from "../../util/json.ts";
import type { ModelsMembers } from "./capability.ts";
import { chooseModel, decideNextModel, type FailureCode } from "./choose.ts";
import { modelListErrors } from "./errors.ts";
import { DEFAULT_REMEMBER_MS, MEMORY_TABLES, ProviderMemory } from "./memory.ts";
import { namedModels, type ListedModel } from "./model-names.ts";
import {
  DEFAULT_RATE_LIMIT_WAIT_MS,
  FAILURE_HOOK_MS,
  type ModelFailureContext,
  type ModelFailureDecision
} from "./settings.ts";
import { TurnModel } from "./turn-model.ts";

/** Refusals of the caller, of its account or of the model itself: another provider may not share them. */
const REFUSED_STATUSES: readonly unknown[] = [401, 402, 403, 404];

/** What one attempt was given. */
interface Chosen {
  readonly models: readonly ListedModel[];
  readonly turnModel: TurnModel;
  readonly choice: ModelChoice;
}

export class ModelsFeature implements Feature {
  readonly name = "models";
  readonly tables = MEMORY_TABLES;
  readonly roles: Partial<Roles> = { nextModel: (turn, failure) => this.#next(turn, failure) };
  readonly #services: ChatServices;
  readonly #agent: ModelsMembers;
  readonly #memory: ProviderMemory;
  /** Models by name, as the newest attempt was given them: `beforeTurn` may have added one. */
  #listed: readonly ListedModel[] = [];

  constructor(services: ChatServices) {
    this.#services = services;
    // Only agents with these members open it.
    this.#agent = services.agent as ModelsMembers;
    this.#memory = new ProviderMemory(services.sql);
  }

  inTurn(turn: TurnView): TurnPart {
    const stepModel = (of: Chosen, model: LanguageModel) => this.#stepModel(turn, of, model);
    let list: readonly LanguageModel[] = [];
    /** Undefined: the class has one model. */
    let chosen: Chosen | undefined;
    return {
      chooseModel: (own) => {
        const given = this.#services.isOverridden("getModels") ? this.#agent.getModels() : own();
        if (!isModelList(given)) return given;
        list = given;
        chosen = this.#choose(turn, list);
        return chosen.turnModel.model;
      },
      configure: async (_context: TurnContext, config: TurnConfig) => {
        const { model } = config;
        if (!chosen || model === undefined || model === chosen.turnModel.model) return config;
        chosen = this.#choose(turn, [model, ...list.filter((one) => one !== model)]);
        return { ...config, model: chosen.turnModel.model };
      },
      begin: (_context, { settings }) => {
        if (!chosen) return undefined;
        // The SDK would ask a failing model twice more, with pauses, before another one could be asked.
        settings.maxRetries ??= 0;
        this.#listed = chosen.models;
        return { choice: chosen.choice };
      },
      get stepModel() {
        const of = chosen;
        return of && ((model: LanguageModel) => stepModel(of, model));
      },
      ...(this.#agent.modelFallback.sendModels && {
        annotate: (chunk) => (chosen ? this.#withModels(turn, chosen, chunk) : chunk)
      })
    };
  }

  #choose(turn: TurnView, list: readonly LanguageModel[]): Chosen {
    const { modelFallback: options } = this.#agent;
    const models = namedModels(list, (model) => this.#resolved(model));
    const known = { candidates: models, memory: this.#memory.list(), nowMs: this.#services.clock.now() };
    const { chosenModel } = turn;
    const chosen = chooseModel(known, chosenModel);
    if (!chosen) throw modelListErrors.ModelListError("It is empty.");
    const others = models.filter((one) => one !== chosen);
    const turnModel = new TurnModel({
      models,
      chosen,
      beside: chooseModel({ ...known, candidates: others }),
      hedgeAfterMs: options.hedgeAfterMs ?? 0,
      standsInForFiltered: options.contentFilter ?? false,
      clock: this.#services.clock,
      answered: (model) => this.#memory.answered(model)
    });
    const choice: ModelChoice = {
      name: chosen.name,
      names: models.map((one) => one.name),
      isDurable: chosen !== models[0] && chosen.name !== chosenModel,
      keepsText: options.unfinishedStep === "continue",
      step: (usage) => turnModel.step(usage),
      watch: turnModel
    };
    return { models, turnModel, choice };
  }

  /** What `beforeStep` returned is asked for that step; once it has failed in this turn, the chosen model stands in for it. */
  #stepModel(turn: TurnView, { models, turnModel }: Chosen, model: LanguageModel): LanguageModel {
    if (model === turnModel.model) return model;
    const [own] = namedModels([model], (one) => this.#resolved(one));
    if (!own) return model;
    const listed = models.find(({ name }) => name === own.name) ?? own;
    const attempts = this.#services.journal.folds.get(turn.turnId)?.attempts ?? [];
    const hasFailed = attempts.some((one) => one.model === listed.name && one.end === "failed");
    return hasFailed ? turnModel.model : turnModel.forStep(listed);
  }

  #resolved(model: LanguageModel): ModelObject {
    const own = typeof model === "string" ? this.#services.overrides.resolveModel(model) : undefined;
    return installedSdk().resolveModel(own ?? model);
  }

  // ── After a failure ──

  async #next(turn: TurnView, failure: ModelFailure): Promise<NextDecision | undefined> {
    const { error, isSilence, choice, attempts } = failure;
    const isOfModel = error instanceof ModelCallError && !(error instanceof StepHookError);
    if (!isOfModel && !isSilence) return undefined;
    const { clock } = this.#services;
    const { modelFallback: options } = this.#agent;
    const code = codeOf(failure);
    const model = attempts.at(-1)?.model ?? choice.name;
    const askedForMs = code === "rate_limit" ? retryAfterMs(error, clock.now()) : undefined;
    const listed = this.#listed.find(({ name }) => name === model);
    this.#remember(listed, code, askedForMs);
    const candidates = this.#listed.filter(({ name }) => choice.names.includes(name));
    const known = { candidates, memory: this.#memory.list(), nowMs: clock.now() };
    const isShort = askedForMs !== undefined && askedForMs <= (options.rateLimitWaitMs ?? DEFAULT_RATE_LIMIT_WAIT_MS);
    const isWaitedFor = isShort && !hasWaited(attempts, model);
    // What would be refused anywhere is not sent to the next provider.
    const isOurs = code === "model-failed";
    const found = isWaitedFor || isOurs ? undefined : decideNextModel({ ...known, attempts, failing: model, code });
    const decision = await this.#ask(turn, failure, { model, found: asDecision(found) });
    return this.#announced({ turn, failure, model, code }, decision);
  }

  #remember(listed: ListedModel | undefined, code: FailureCode, askedForMs: number | undefined): void {
    const isProviders = code === "transient" || code === "rate_limit" || code === "silence" || code === "model-refused";
    if (!listed || !isProviders) return;
    const { rememberMs = DEFAULT_REMEMBER_MS } = this.#agent.modelFallback;
    this.#memory.failed(listed, { nowMs: this.#services.clock.now(), rememberMs, askedForMs });
  }

  /** The class may decide otherwise, within ten seconds. A throw, or the name of no model, changes nothing. */
  async #ask(
    turn: TurnView,
    { error, classification, choice }: ModelFailure,
    { model, found }: { model: string; found: ModelFailureDecision }
  ): Promise<ModelFailureDecision> {
    if (!this.#services.isOverridden("onModelFailure")) return found;
    const { attempt, turnId, requestId } = turn;
    const context: ModelFailureContext = {
      error: error instanceof ModelCallError ? (error.cause ?? error) : error,
      classification,
      attempt,
      model,
      models: choice.names,
      decision: found,
      turnId,
      requestId
    };
    try {
      const answer = this.#services.inAgent(async () => this.#agent.onModelFailure(context));
      const late = () => new Error(`onModelFailure took longer than ${FAILURE_HOOK_MS} ms.`);
      const own = await beforeDeadline(answer, { clock: this.#services.clock, timeoutMs: FAILURE_HOOK_MS, late });
      if (!own) return found;
      const name = own.action === "switch" ? own.to : own.action === "wait" ? own.for : model;
      if (choice.names.includes(name)) return own;
      console.warn(`onModelFailure named "${name}", which is no model of this turn.`);
    } catch (thrown) {
      console.error("onModelFailure failed; what happens without it happens.", thrown);
    }
    return found;
  }

  #announced(
    { turn, failure, model, code }: { turn: TurnView; failure: ModelFailure; model: string; code: FailureCode },
    decision: ModelFailureDecision
  ): NextDecision | undefined {
    const { keepsText } = failure.choice;
    switch (decision.action) {
      case "switch": {
        const { requestId } = turn;
        this.#services.emit("chat:model:switched", { requestId, from: model, to: decision.to, code });
        console.warn(
          `The model ${model} failed (${code}); ${decision.to} is asked (request ${requestId}): ${saidBy(failure)}`
        );
        return { do: "switch", model: decision.to, keepsText, code };
      }
      case "wait":
        return { do: "again", model: decision.for, keepsText };
      case "fail":
        return { do: "fail" };
      case "retry":
        return undefined;
    }
  }

  // ── What clients are shown ──

  #withModels(turn: TurnView, { choice }: Chosen, chunk: UIMessageChunk): UIMessageChunk {
    if (chunk.type !== "start" && chunk.type !== "finish") return chunk;
    const attempts = this.#services.journal.folds.get(turn.turnId)?.attempts ?? [];
    const earlier = attempts.slice(0, -1).filter(({ finishedSteps, next }) => finishedSteps > 0 || next?.keepsText);
    const names = [...earlier.flatMap(({ model }) => model ?? []), choice.step(NO_USAGE).model];
    const metadata = isObject(chunk.messageMetadata) ? chunk.messageMetadata : {};
    return { ...chunk, messageMetadata: { ...metadata, models: [...new Set(names)] } };
  }
}

function asDecision(found: ReturnType<typeof decideNextModel>): ModelFailureDecision {
  if (!found) return { action: "retry" };
  return found.do === "switch" ? { action: "switch", to: found.model } : { action: "wait", for: found.model };
}

function codeOf({ error, classification, isSilence }: ModelFailure): FailureCode {
  if (isSilence) return "silence";
  if (isFiltered(error)) return "content-filtered";
  if (classification === "rate_limit" || classification === "context_overflow" || classification === "transient") {
    return classification;
  }
  return REFUSED_STATUSES.includes(failureSignals(error).status) ? "model-refused" : "model-failed";
}

function isFiltered(error: unknown): boolean {
  const cause = error instanceof ModelCallError ? error.cause : undefined;
  return cause instanceof ThinkError && cause.code === "model-content-filtered";
}

/** It was waited for already, since it last finished a step. */
function hasWaited(attempts: ModelFailure["attempts"], model: string): boolean {
  const before = attempts.at(-2);
  return before?.end === "failed" && before.retryAt !== null && before.next === undefined && before.model === model;
}

/** For the operator's log. */
function saidBy({ error }: ModelFailure): string {
  const cause = error instanceof ModelCallError ? (error.cause ?? error) : error;
  return errorMessage(cause).slice(0, 500);
}
