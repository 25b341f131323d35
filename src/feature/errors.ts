import { errorMessage, errorTable, ThinkError } from "../util/errors.ts";

/** The caller of `chat()` takes in its events more slowly than they come, beyond what is kept for it. */
export class SlowCallbackError extends ThinkError {
  constructor(readonly limitBytes: number) {
    super({
      code: "callback-too-slow",
      message: "The answer was stopped because its reader fell too far behind.",
      hint: `More than ${limitBytes} bytes of events waited for onEvent().`
    });
  }
}

/** Two features cannot share a name that clients, the model or the storage know them by. */
export class FeatureClashError extends ThinkError {
  /** The one that was left out. */
  readonly feature: string;

  constructor(feature: string, taken: { readonly kind: string; readonly name: string }) {
    super({
      code: "feature-clash",
      message: `The feature "${feature}" was left out: its ${taken.kind} "${taken.name}" is taken.`,
      hint: "Another feature, the class or the package itself has it. Rename one of the two, or use one of them only."
    });
    this.feature = feature;
  }
}

export const featureErrors = errorTable(ThinkError, {
  /** `getModel()` was not overridden. */
  NoModelError: (className: string) => ({
    code: "no-model",
    message: "This agent has no model to answer with.",
    hint: `Override getModel() in ${className} and return a language model of the AI SDK.`
  }),
  /** `beforeToolCall` returned something that is not a decision; running the tool on a guess could do harm. */
  ToolDecisionError: (toolName: string, action: unknown) => ({
    code: "tool-decision-invalid",
    message: `It is not clear whether "${toolName}" may run, so it did not.`,
    hint: `beforeToolCall returned the action ${JSON.stringify(action)}; use "allow", "block", "substitute" or nothing.`
  }),
  /** The turn was given up because the conversation it belonged to was emptied. */
  ConversationClearedError: () => ({
    code: "conversation-cleared",
    message: "The conversation was cleared before this turn could finish."
  }),
  /** A turn's place in the conversation must not move while it runs or waits. */
  BranchInUseError: () => ({
    code: "branch-in-use",
    message: "Another version can be shown when the current answer is complete.",
    hint: "A turn is running or waiting. Wait for its end, or stop it, and call selectBranch() again."
  }),
  /** An `idempotencyKey` that cannot tell one call from another. */
  InvalidKeyError: (problem: string) => ({
    code: "idempotency-key-invalid",
    message: `The idempotencyKey could not be accepted: ${problem}.`,
    hint: "Leave it out, or name what the call is about, such as the id of the order or of the webhook's event."
  }),
  /** A file that no model could read. It is refused before it is stored: it would be part of every later prompt. */
  AttachmentError: (filename: string | undefined, problem: string) => ({
    code: "attachment-invalid",
    message: `${filename === undefined ? "An attached file" : `The file "${filename}"`} cannot be accepted: ${problem}.`,
    hint: 'A file part is { type: "file", mediaType, url, filename? }; url is a data: URL with data, or an address.'
  }),
  /** The conversation was asked for before `configureSession` had said which one it is. */
  NotStartedError: (className: string) => ({
    code: "not-started",
    message: "This agent has not started yet.",
    hint: `Messages and turns of ${className} are not available in its constructor or in configureSession().`
  }),
  /** A client described a tool that no model can call. */
  ClientToolError: (problem: string) => ({
    code: "client-tool-invalid",
    message: `A client tool could not be accepted: ${problem}.`,
    hint: "A client tool is { name, description?, parameters? } with a JSON schema as parameters."
  }),
  /** A durable submission must be stored before it runs, and a function cannot be. */
  FunctionInputError: () => ({
    code: "function-input",
    message: 'runTurn({ mode: "submit" }) does not take function input.',
    hint: "Call the function yourself and give its messages, or use the mode wait or stream."
  }),
  /** What is to be kept over a restart must be JSON. */
  InvalidDataError: (problem: string) => ({
    code: "invalid-data",
    message: `The data cannot be stored: ${problem}.`,
    hint: "Give a JSON value."
  }),
  ActionMapError: () => ({
    code: "action-map",
    message: "getActions() must return an object of actions.",
    hint: "Make each with action(); plain tools belong to getTools()."
  }),
  /** Only models that the class names can be tried. */
  InspectedModelError: (name: string, known: readonly string[]) => ({
    code: "inspected-model-unknown",
    message: `There is no model "${name.slice(0, 64)}" to try.`,
    hint: `inspectionModels() of the class names ${known.length === 0 ? "none" : known.join(", ")}.`
  }),
  /** A client or the provider runs it, or there is none of this name. */
  ToolNotRunnableError: (name: string) => ({
    code: "tool-not-runnable",
    message: `"${name.slice(0, 64)}" cannot be run by hand.`,
    hint: "Only tools with an execute function run in the agent; GET tools of the inspection API lists them."
  }),
  /** Nothing was run. */
  HandInputError: (name: string, why: unknown) => ({
    code: "hand-input-invalid",
    message: `This is not what "${name.slice(0, 64)}" takes: ${errorMessage(why).slice(0, 2_000)}`,
    hint: "The input was checked against the tool's input schema before anything was run."
  }),
  /** The session's messages and the turns that write them must be in one database. */
  CustomSessionError: () => ({
    code: "session-not-in-sqlite",
    message: "This agent's session cannot hold a conversation.",
    hint: "configureSession() must return a session over the agent's own storage: turns and messages share transactions."
  }),
  /** A class of `everthink/core` without the capability. */
  NoSubmissionsError: () => ({
    code: "no-submissions",
    message: "Turns cannot be submitted: the class has no submissions.",
    hint: "Give withCapabilities() the capability of everthink/core/submissions, or wait for the turn."
  }),
  /** A client asked for another answer to a message that is not stored. */
  UnknownQuestionError: () => ({
    code: "question-unknown",
    message: "The message to answer again is not part of this conversation.",
    hint: "The client's list was older than the conversation: it was cleared, or the message was deleted."
  })
});
