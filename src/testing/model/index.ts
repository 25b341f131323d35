export {
  file,
  json,
  rawInput,
  rawPart,
  reasoning,
  source,
  text,
  textChunks,
  toolCall,
  toolResult,
  type BlockOptions,
  type RawInput,
  type ReasoningOptions,
  type SourceOptions,
  type ToolCallOptions,
  type ToolResultOptions
} from "./content.ts";
export { after, breakStream, cutStream, failInBand, stall, waitFor } from "./disturbance.ts";
export { ScriptError, ScriptExhaustedError, ScriptRunawayError, ScriptUnfinishedError } from "./errors.ts";
export { createGate, type Gate } from "./gate.ts";
export { modelWithBoundary, type StreamingModel } from "./model-with-boundary.ts";
export type { AnswerPlan, AnswerPlans, PlannedCall, PlannedStep } from "./plan.ts";
export { planModel, type PlanModelOptions } from "./plan-model.ts";
export type { ApiErrorOptions } from "./provider-error.ts";
export {
  anthropicRedactedThinking,
  anthropicThinking,
  googleText,
  googleThought,
  googleToolCall,
  openaiReasoning
} from "./provider-shapes.ts";
export type { CallSettings, OfferedTool, PromptMessage, PromptPart, RecordedCall } from "./recorded-call.ts";
export { finish, response, usage, warning, type UsageOptions } from "./reply-setting.ts";
export type { ScriptClock, ScriptPart } from "./script-part.ts";
export { createScript, type Script, type ScriptOptions, type Steps } from "./script.ts";
export {
  scriptedModel,
  type ScriptedModelOptions,
  type ScriptedModelV3,
  type ScriptedModelV4
} from "./scripted-model.ts";
export { fail, reply, type Answer, type Reply, type Step, type StepFunction } from "./step.ts";
