import { openai } from "@ai-sdk/openai";
import type { LanguageModel } from "ai";
import { Think, Workspace, type WorkspaceAccess } from "everthink";
import { hasBearerToken } from "everthink/agent";
import { createWorkspaceTools, type WorkspaceLike } from "everthink/tools/workspace";

interface Env {
  FILES?: ConstructorParameters<typeof Workspace>[0]["r2"];
}

export class Writer extends Think {
  override getModel(): LanguageModel {
    return openai("gpt-5");
  }

  async publish() {
    await this.workspace.writeFile("/notes/today.md", "# Today\n");
    return await this.workspace.glob("notes/**/*.md");
  }
}

export class Coder extends Think {
  override workspaceBash = { timeout: 10_000 };

  override getModel(): LanguageModel {
    return openai("gpt-5");
  }
}

export class Archive extends Think<Env> {
  override workspace = new Workspace({
    sql: this.ctx.storage.sql,
    ...(this.env.FILES && { r2: this.env.FILES }),
    name: () => this.name
  });

  override getModel(): LanguageModel {
    return openai("gpt-5");
  }

  /** Puts back what a file held before its last change. */
  async undo(path: string) {
    const [version] = await this.workspace.history(path);
    if (version) await this.workspace.restore(path, version.version);
  }
}

export class Shared extends Think<{ OWNER_TOKEN?: string }> {
  override getModel(): LanguageModel {
    return openai("gpt-5");
  }

  override authorizeWorkspace({ action, path, request }: WorkspaceAccess) {
    const isOwner = hasBearerToken(request, this.env.OWNER_TOKEN);
    return isOwner || (action === "read" && path.startsWith("/public/"));
  }
}

export function toolsOver(folder: WorkspaceLike) {
  return createWorkspaceTools(folder, { bash: false });
}
