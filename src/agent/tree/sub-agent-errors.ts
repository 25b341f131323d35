import { minifiedHint } from "../../host/errors.ts";
import { errorTable, ThinkError } from "../../util/errors.ts";

/** Platform limit, the root included. */
export const TREE_DEPTH_LIMIT = 4;

export class ReservedClassNameError extends ThinkError {
  constructor(className: string) {
    super({
      code: "sub-agent-class-reserved",
      message: `The class name "${className}" is reserved: its URL segment would be "sub".`,
      hint: "Rename the class."
    });
  }
}

export class SubAgentNameError extends ThinkError {
  constructor() {
    super({
      code: "sub-agent-name",
      message: "A sub-agent's name must not contain a null character.",
      hint: "Any other name is allowed."
    });
  }
}

export const subAgentErrors = errorTable(ThinkError, {
  SubAgentDepthError: (className: string) => ({
    code: "sub-agent-too-deep",
    message: `"${className}" cannot be created here: agents nest at most ${TREE_DEPTH_LIMIT} deep, the root included.`,
    hint: "Create it from an agent higher up, or as a top-level agent with getAgentByName()."
  }),
  RootUnavailableError: (className: string, bindings: string[]) => ({
    code: "root-unavailable",
    message: `Sub-agent bootstrap requires the root agent class "${className}" to be available as a Durable Object export.`,
    hint:
      `Export it from the main module under this name and list it in the Worker's durable_objects bindings ` +
      `(found: ${bindings.join(", ") || "none"}).${minifiedHint(className)}`
  }),
  NotASubAgentError: (className: string) => ({
    code: "not-a-sub-agent",
    message: `${className} is not a facet: it has no parent agent.`,
    hint: "parentAgent() works in agents created with subAgent()."
  }),
  WrongParentError: (asked: string, real: string) => ({
    code: "wrong-parent",
    message: `The parent of this agent is a "${real}", not a "${asked}".`,
    hint: `Call parentAgent(${real}), or give the level of a farther ancestor: parentAgent(${asked}, { level: 2 }).`
  }),
  UnknownSubAgentError: (className: string) => ({
    code: "sub-agent-unknown",
    message: `There is no such ${className} sub-agent.`,
    hint: "It was deleted, or never created with subAgent()."
  }),
  UnknownMethodError: (method: string, className: string) => ({
    code: "method-unknown",
    message: `${className} has no method "${method}".`,
    hint: "Only public methods of the class can be called on a stub."
  })
});
