import { Researcher } from "./mcp.ts";
import type { McpApproval, McpToolInfo } from "everthink";

export class CarefulResearcher extends Researcher {
  override mcpApproval(tool: McpToolInfo): McpApproval {
    if (tool.serverId !== "docs") return "hide";
    return tool.annotations?.readOnlyHint !== true;
  }
}
