// The files of an agent as a feature: their tools in every turn, and files over HTTP where the class says who may. What
// a tool writes is remembered as the turn's. Old media of messages become files too.
import type { ToolSet, UIMessage } from "ai";
import { isToolPart } from "../../model/index.ts";
import type { Preserve } from "../../session/media-evictor.ts";
import { findShell } from "./bash/load-shell.ts";
import type { BashOptions } from "./bash/run-script.ts";
import { workspaceResponse } from "./http.ts";
import { createWorkspaceTools } from "./tools/create-workspace-tools.ts";
import { Workspace } from "./workspace.ts";
import type { Feature } from "../../feature/feature.ts";
import type { ChatServices } from "../../feature/services.ts";
import type { TurnEngine } from "../../turn/engine.ts";
import type { WorkspaceMembers } from "./capability.ts";

/** Newest messages whose images and PDFs the model is shown again; of older ones it reads a note. */
const MEDIA_MESSAGES = 8;

export function workspaceFeature({ agent, turns, isOverridden }: ChatServices): Feature {
  // Only agents with these members open it.
  const owner = agent as WorkspaceMembers;
  return {
    name: "workspace",
    tables: ["", "__chunks", "__versions", "__garbage"].map((part) => ({ name: `cf_workspace_default${part}` })),
    toolNames: ["read", "write", "edit", "list", "find", "grep", "delete", "bash"],
    inTurn: async ({ turnId }) =>
      owner.workspaceTools ? { tools: { workspace: await toolsOf(owner, turns, turnId) } } : undefined,
    routes: {
      workspace: (request, rest) => (isOverridden("authorizeWorkspace") ? respond(owner, request, rest) : undefined)
    },
    roles: {
      preserve: () => preserveAsFile(owner),
      /** The agent's objects in R2: their keys are only in its rows. */
      async deleteOutside() {
        if (owner.workspace instanceof Workspace) await owner.workspace.deleteObjects();
      }
    }
  };
}

function respond(owner: WorkspaceMembers, request: Request, rest: string): Promise<Response> {
  return workspaceResponse(request, rest, {
    workspace: owner.workspace,
    authorize: (access) => owner.authorizeWorkspace(access)
  });
}

async function toolsOf(
  { workspace, workspaceBash }: WorkspaceMembers,
  turns: TurnEngine,
  turnId: string
): Promise<ToolSet> {
  const files = workspace instanceof Workspace ? workspace.inTurn(turnId) : workspace;
  let old: ReadonlySet<string> | undefined;
  return createWorkspaceTools(files, {
    bash: await offeredBash(workspaceBash),
    // Read only when there is an image to show.
    showsMedia: (toolCallId) => !(old ??= oldCalls(turns.transcript())).has(toolCallId)
  });
}

/** A tool that cannot run is not offered. Throws BashMissingError for a class that has settings for it. */
async function offeredBash(setting: boolean | BashOptions): Promise<boolean | BashOptions> {
  if (setting === false) return false;
  const shell = await findShell();
  if (!shell.ok && setting !== true) throw shell.error;
  return shell.ok && setting;
}

function oldCalls(messages: readonly UIMessage[]): Set<string> {
  const parts = messages.slice(0, -MEDIA_MESSAGES).flatMap((message) => message.parts);
  return new Set(parts.flatMap((part) => (isToolPart(part) ? [part.toolCallId] : [])));
}

/**
 * Keeps a value of an old message as a file, where the model finds it with `read`. Undefined for a class whose model
 * could not: then the value stays with its message.
 */
function preserveAsFile({ workspace, workspaceTools }: WorkspaceMembers): Preserve | undefined {
  if (!workspaceTools || !workspace.writeFileBytes) return undefined;
  return async (bytes, mediaType, path) => {
    await workspace.writeFileBytes?.(path, bytes, mediaType ?? "text/plain");
    return path;
  };
}
