// The files of an agent as a capability: the fields and the override point by which a class brings its own workspace, sets up
// bash, or lets clients at the files over HTTP.
import { chatCapability } from "../../feature/capability.ts";
import { WorkspaceFeature } from "./feature.ts";
import { runtimeOf } from "../../agent/runtime.ts";
import type { BashOptions } from "./bash/run-script.ts";
import type { WorkspaceAccess } from "./http.ts";
import { Workspace } from "./workspace.ts";
import type { WorkspaceLike } from "./workspace-like.ts";

export class WorkspaceMembers {
  /**
   * The agent's files. A class overrides it to add R2, or to use files of another place.
   * @example
   * workspace = new Workspace({ sql: this.ctx.storage.sql, r2: this.env.FILES, name: () => this.name });
   */
  workspace: WorkspaceLike;

  /**
   * Whether the model has `read, write, edit, list, find, grep, delete` and `bash` over `workspace`.
   * @example
   * workspaceTools = false;
   */
  workspaceTools = true;

  /**
   * Whether the model has `bash`, which needs the package just-bash. True: if that is installed. With options it must be:
   * otherwise turns fail and the error names the package.
   * @example
   * workspaceBash = { timeout: 10_000 };
   */
  workspaceBash: boolean | BashOptions = true;

  /**
   * Whether a request may read or write a file over HTTP, at `…/workspace/<path>`. Without an override there is no such
   * address.
   * @example
   * authorizeWorkspace({ action, path, request }: WorkspaceAccess) {
   *   const isOwner = hasBearerToken(request, this.env.OWNER_TOKEN);
   *   return isOwner || (action === "read" && path.startsWith("/public/"));
   * }
   */
  authorizeWorkspace(_access: WorkspaceAccess): boolean | Promise<boolean> {
    return false;
  }

  constructor(agent: object) {
    this.workspace = defaultWorkspace(agent);
  }
}

export const workspace = chatCapability({
  name: "workspace",
  members: WorkspaceMembers,
  feature: (services) => new WorkspaceFeature(services)
});

function defaultWorkspace(agent: object): Workspace {
  const { sql, clock, identity } = runtimeOf(agent);
  return new Workspace({ sql, name: () => identity.name, now: () => clock.now() });
}
