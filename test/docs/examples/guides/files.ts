import { openai } from "@ai-sdk/openai";
import type { LanguageModel } from "ai";
import { Think, Workspace, type WorkspaceAccess } from "everthink";
import { userOf } from "everthink/login";

interface Env {
  FILES?: R2Bucket;
}

export class Analyst extends Think<Env> {
  override getModel(): LanguageModel {
    return openai("gpt-5");
  }

  override getSystemPrompt() {
    return "The user's files are in /uploads. Read them before you answer, and write results to /results.";
  }

  // Files of 1.5 MB and more go to the bucket. Without one, as on your own machine, all of them are in SQLite.
  override workspace = new Workspace({
    sql: this.ctx.storage.sql,
    ...(this.env.FILES && { r2: this.env.FILES }),
    name: () => this.name
  });

  // GET, HEAD and PUT …/agents/analyst/<name>/workspace/<path>
  override authorizeWorkspace({ action, path, request }: WorkspaceAccess) {
    if (userOf(request) !== this.name) return false;
    return action === "write" ? path.startsWith("/uploads/") : true;
  }
}
