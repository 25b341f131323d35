import { ThinkError } from "../../util/errors.ts";

export class AgentToolClassError extends ThinkError {
  constructor(className: string) {
    super({
      code: "agent-tool-class",
      message: `"${className}" cannot run as a tool: it is no chat agent.`,
      hint: "A class that runs as a tool extends Think and is exported from the Worker under its own name."
    });
  }
}

export class AgentToolContextError extends ThinkError {
  constructor() {
    super({
      code: "agent-tool-context",
      message: "agentTool() can only run inside a turn of a Think agent.",
      hint: "Return the tool from getTools() or beforeTurn(). Elsewhere, call this.runAgentTool()."
    });
  }
}
