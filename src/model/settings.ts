// The SDK's own option types, minus what this package decides itself. They are derived from the signature of the
// user's installed `streamText`, so an option that a new SDK release adds is accepted and forwarded without us.
// Types only: nothing here exists at run time.
import type {
  LanguageModel,
  ModelMessage,
  StopCondition,
  streamText,
  SystemModelMessage,
  TextStreamPart,
  ToolSet
} from "ai";

/** Any release of streamText, of either major. */
// A generic function is not assignable to a narrower function type, and `never` parameters accept all of them.
type AnyStreamText = (options: never) => unknown;

/** What the call owns: inputs it is given separately, and callbacks it must hear itself. */
type OwnedKeys =
  | "model"
  | "system"
  | "instructions"
  | "prompt"
  | "messages"
  | "allowSystemInMessages"
  | "tools"
  | "stopWhen"
  | "abortSignal"
  | "prepareStep"
  | "onChunk"
  | "onError"
  | "onAbort"
  | "onStepFinish"
  | "onStepEnd"
  | "_internal";

type OptionsOf<Stream extends AnyStreamText> = Parameters<Stream>[0];
type PrepareStepOf<Stream extends AnyStreamText> = NonNullable<
  OptionsOf<Stream> extends { prepareStep?: infer Prepare } ? Prepare : never
>;
type CallbackEvent<Callback> = NonNullable<Callback> extends (event: infer Event) => unknown ? Event : never;

/** The system prompt as both majors take it; the message form carries provider options such as cache control. */
export type SystemPrompt = string | SystemModelMessage | SystemModelMessage[];

/** Everything a given SDK's `streamText` accepts besides what the call owns. */
export type ModelSettingsOf<Stream extends AnyStreamText> = Omit<OptionsOf<Stream>, OwnedKeys>;

/** What a given SDK lets a step change. */
export type StepSettingsOf<Stream extends AnyStreamText> = NonNullable<
  Awaited<ReturnType<Extract<PrepareStepOf<Stream>, (...values: never) => unknown>>>
>;

/**
 * The settings of one turn's model calls: temperature, headers, provider options, structured output, telemetry,
 * transforms, tool choice, and whatever else the installed SDK offers.
 */
export interface ModelSettings extends ModelSettingsOf<typeof streamText> {
  /** Repairs a tool call that could not be parsed; under this name with either major. */
  repairToolCall?: ModelSettingsOf<typeof streamText>["experimental_repairToolCall"];
}

/** What `beforeStep` may change for one step. */
export interface StepSettings extends Omit<StepSettingsOf<typeof streamText>, "system" | "messages" | "model"> {
  model?: LanguageModel;
  system?: SystemPrompt;
  messages?: ModelMessage[];
  /** The name ai 6 gives to the runtime context. */
  experimental_context?: unknown;
}

/** What the SDK tells before a step, plus the fields one major has and the other has not. */
export type StepStart = CallbackEvent<PrepareStepOf<typeof streamText>> & { experimental_context?: unknown };

/** The SDK's result of a finished step, unmodified. */
export type StepEnd = CallbackEvent<OptionsOf<typeof streamText>["onStepFinish"]>;

/** `{ chunk }`, unmodified. */
export type ChunkEvent = CallbackEvent<OptionsOf<typeof streamText>["onChunk"]>;

/** Metadata for the answer, given each part of the SDK's stream; nothing where a part adds none. */
export type MessageMetadata = (event: { readonly part: TextStreamPart<ToolSet> }) => unknown;

/** A condition under which the loop stops after a step. */
export type StopWhen = StopCondition<ToolSet> | readonly StopCondition<ToolSet>[];
