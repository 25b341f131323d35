// The files of an agent class: the fields and the override point by which a class brings its own workspace, adds bash,
// or lets clients at the files over HTTP.
import { Agent } from "../agent/agent.ts";
import { runtimeOf } from "../agent/runtime.ts";
import type { WorkspaceAccess } from "./http.ts";
import type { BashFactory } from "./tools/create-workspace-tools.ts";
import { Workspace } from "./workspace.ts";
import type { WorkspaceLike } from "./workspace-like.ts";

export abstract class WorkspaceAgent<
  Env = unknown,
  State = unknown,
  Props extends Record<string, unknown> = Record<string, unknown>
> extends Agent<Env, State, Props> {
  /** The agent's files. Override it to add R2, or to use files of another place. */
  workspace: WorkspaceLike = defaultWorkspace(this);

  /** Whether the model has `read, write, edit, list, find, grep, delete` over `workspace`. */
  workspaceTools = true;

  /** `bash({ load: () => import("just-bash") })` gives the model `bash` over `workspace`; see everthink/tools/workspace. */
  workspaceBash: false | BashFactory = false;

  /**
   * Whether a request may read or write a file over HTTP, at `…/workspace/<path>`. Without an override there is no such
   * address.
   */
  authorizeWorkspace(_access: WorkspaceAccess): boolean | Promise<boolean> {
    return false;
  }

  /** Deletes the agent's objects in R2 first: only its rows know them. */
  override async destroy(): Promise<void> {
    if (this.workspace instanceof Workspace) await this.workspace.deleteObjects();
    await super.destroy();
  }
}

function defaultWorkspace(agent: Agent): Workspace {
  const { sql, clock } = runtimeOf(agent);
  return new Workspace({ sql, name: () => agent.name, now: () => clock.now() });
}
