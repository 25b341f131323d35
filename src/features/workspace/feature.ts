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
import type { Feature, FeatureHost } from "../../feature/feature.ts";
import type { ThinkOverrides } from "../../think/overrides.ts";

/** Newest messages whose images and PDFs the model is shown again; of older ones it reads a note. */
const MEDIA_MESSAGES = 8;

export function workspaceFeature(host: FeatureHost): Feature {
  const { overrides } = host;
  return {
    name: "workspace",
    tables: ["", "__chunks", "__versions", "__garbage"].map((part) => ({ name: `cf_workspace_default${part}` })),
    toolNames: ["read", "write", "edit", "list", "find", "grep", "delete", "bash"],
    inTurn: async ({ turnId }) =>
      overrides.workspaceTools ? { tools: { workspace: await toolsOf(host, turnId) } } : undefined,
    routes: {
      workspace: (request, rest) =>
        host.isOverridden("authorizeWorkspace") ? respond(overrides, request, rest) : undefined
    }
  };
}

function respond(overrides: ThinkOverrides, request: Request, rest: string): Promise<Response> {
  return workspaceResponse(request, rest, {
    workspace: overrides.workspace,
    authorize: (access) => overrides.authorizeWorkspace(access)
  });
}

async function toolsOf({ overrides, turns }: FeatureHost, turnId: string): Promise<ToolSet> {
  const { workspace, workspaceBash } = overrides;
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
export function preserveAsFile({ workspace, workspaceTools }: ThinkOverrides): Preserve | undefined {
  if (!workspaceTools || !workspace.writeFileBytes) return undefined;
  return async (bytes, mediaType, path) => {
    await workspace.writeFileBytes?.(path, bytes, mediaType ?? "text/plain");
    return path;
  };
}
