// The files of an agent as a feature: their tools in every turn, and files over HTTP where the class says who may. What
// a tool writes is remembered as the turn's.
import type { ToolSet, UIMessage } from "ai";
import { isToolPart } from "../model/index.ts";
import { workspaceResponse } from "../workspace/http.ts";
import { createWorkspaceTools } from "../workspace/tools/create-workspace-tools.ts";
import { Workspace } from "../workspace/workspace.ts";
import type { Feature, FeatureHost } from "./feature.ts";

/** Newest messages whose images and PDFs the model is shown again; of older ones it reads a note. */
const MEDIA_MESSAGES = 8;

export function workspaceFeature(host: FeatureHost): Feature {
  const { overrides } = host;
  return {
    name: "workspace",
    tables: ["", "__chunks", "__versions", "__garbage"].map((part) => ({ name: `cf_workspace_default${part}` })),
    toolNames: ["read", "write", "edit", "list", "find", "grep", "delete", "bash"],
    inTurn: ({ turnId }) => (overrides.workspaceTools ? { tools: { workspace: toolsOf(host, turnId) } } : undefined),
    routes: {
      workspace: (request, rest) =>
        host.isOverridden("authorizeWorkspace")
          ? workspaceResponse(request, rest, {
              workspace: overrides.workspace,
              authorize: (access) => overrides.authorizeWorkspace(access)
            })
          : undefined
    }
  };
}

function toolsOf({ overrides, turns }: FeatureHost, turnId: string): ToolSet {
  const { workspace, workspaceBash: bash } = overrides;
  const files = workspace instanceof Workspace ? workspace.inTurn(turnId) : workspace;
  let old: ReadonlySet<string> | undefined;
  return createWorkspaceTools(files, {
    bash,
    // Read only when there is an image to show.
    showsMedia: (toolCallId) => !(old ??= oldCalls(turns.transcript())).has(toolCallId)
  });
}

function oldCalls(messages: readonly UIMessage[]): Set<string> {
  const parts = messages.slice(0, -MEDIA_MESSAGES).flatMap((message) => message.parts);
  return new Set(parts.flatMap((part) => (isToolPart(part) ? [part.toolCallId] : [])));
}
