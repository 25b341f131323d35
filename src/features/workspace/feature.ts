// The files of an agent as a feature: their tools in every turn, and files over HTTP where the class says who may. What
// a tool writes is remembered as the turn's. Old media of messages become files too.
import { callsWithOldMedia } from "../../model/tool-media.ts";
import type { Preserve } from "../../session/media-evictor.ts";
import type { Feature, TurnPart } from "../../feature/feature.ts";
import type { ChatServices } from "../../feature/services.ts";
import { findShell } from "./bash/load-shell.ts";
import type { BashOptions } from "./bash/run-script.ts";
import type { WorkspaceMembers } from "./capability.ts";
import { workspaceResponse } from "./http.ts";
import { workspaceTools } from "./tools/create-workspace-tools.ts";
import { Workspace } from "./workspace.ts";
import type { WorkspaceLike } from "./workspace-like.ts";

export class WorkspaceFeature implements Feature {
  readonly name = "workspace";
  readonly tables = ["", "__chunks", "__versions", "__garbage"].map((part) => ({
    name: `cf_workspace_default${part}`
  }));
  readonly toolNames = ["read", "write", "edit", "list", "find", "grep", "delete", "bash"];
  readonly routes = { workspace: (request: Request, rest: string) => this.#respond(request, rest) };
  readonly roles = { preserve: () => this.#preserve(), deleteOutside: () => this.#deleteObjects() };
  readonly #services: ChatServices;
  readonly #agent: WorkspaceMembers;
  /** The tools with the setting of `bash` that they were built for. */
  #built: { readonly bash: boolean | BashOptions; readonly part: TurnPart } | undefined;
  /** Calls whose images and PDFs the attempt does not show; read only when there is an image to show. */
  #oldCalls: ReadonlySet<string> | undefined;

  constructor(services: ChatServices) {
    this.#services = services;
    // Only agents with these members open it.
    this.#agent = services.agent as WorkspaceMembers;
  }

  /** Gives a turn the tools. They are built once: the files of a call are those of the turn that it is part of. */
  async inTurn(): Promise<TurnPart | undefined> {
    const { workspaceTools: hasTools, workspaceBash } = this.#agent;
    if (!hasTools) return undefined;
    this.#oldCalls = undefined;
    const bash = await offeredBash(workspaceBash);
    if (this.#built?.bash !== bash) this.#built = { bash, part: this.#build(bash) };
    return this.#built.part;
  }

  #build(bash: boolean | BashOptions): TurnPart {
    const showsMedia = (toolCallId: string) => {
      this.#oldCalls ??= callsWithOldMedia(this.#services.turns.transcript());
      return !this.#oldCalls.has(toolCallId);
    };
    return { tools: { workspace: workspaceTools(this, { bash, showsMedia }) } };
  }

  /** The files as a call of a tool finds them: what it writes is remembered as its turn's. */
  get ops(): WorkspaceLike {
    const { workspace } = this.#agent;
    const turnId = this.#services.turns.current()?.turnId;
    return workspace instanceof Workspace && turnId !== undefined ? workspace.inTurn(turnId) : workspace;
  }

  #respond(request: Request, rest: string): Promise<Response> | undefined {
    if (!this.#services.isOverridden("authorizeWorkspace")) return undefined;
    return workspaceResponse(request, rest, this.#agent);
  }

  /**
   * Keeps a value of an old message as a file, where the model finds it with `read`. Undefined for a class whose model
   * could not: then the value stays with its message.
   */
  #preserve(): Preserve | undefined {
    const { workspace, workspaceTools: hasTools } = this.#agent;
    if (!hasTools || !workspace.writeFileBytes) return undefined;
    return async (bytes, mediaType, path) => {
      await workspace.writeFileBytes?.(path, bytes, mediaType ?? "text/plain");
      return path;
    };
  }

  /** Deletes the agent's objects in R2: their keys are only in its rows. */
  async #deleteObjects(): Promise<void> {
    if (this.#agent.workspace instanceof Workspace) await this.#agent.workspace.deleteObjects();
  }
}

/** Leaves out a tool that cannot run. Throws BashMissingError for a class that has settings for it. */
async function offeredBash(setting: boolean | BashOptions): Promise<boolean | BashOptions> {
  if (setting === false) return false;
  const shell = await findShell();
  if (!shell.ok && setting !== true) throw shell.error;
  return shell.ok && setting;
}
