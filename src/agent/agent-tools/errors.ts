import { ThinkError } from "../../util/errors.ts";

export class AgentToolClassError extends ThinkError {
  constructor(className: string) {
    super({
      code: "agent-tool-class",
      message: `"${className}" cannot run as a tool: it is no chat agent.`,
      hint: "A class that runs as a tool extends Think, or has startAgentToolRun() and the methods that go with it, and is exported from the Worker under its own name."
    });
  }
}

export class AgentToolContextError extends ThinkError {
  constructor() {
    super({
      code: "agent-tool-context",
      message: "agentTool() can only run inside an agent.",
      hint: "Return the tool from getTools() or beforeTurn(), or give it to a model call in a method of an agent."
    });
  }
}
