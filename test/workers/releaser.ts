// A chat agent whose deployments wait for a human; what was deployed is counted in its own storage.
import { z } from "zod";
import { action, Think } from "../../src/index.ts";
import { createScript, reply, scriptedModel, text, toolCall, type Answer } from "../../src/testing/model/index.ts";

export class Releaser extends Think {
  override getModel() {
    return scriptedModel(
      createScript((call): Answer => {
        const prompt = JSON.stringify(call.prompt);
        if (prompt.includes('"deployed"')) return reply(text("It is out."));
        if (prompt.includes('"rejected"')) return reply(text("It stays in."));
        if (prompt.includes('"paused"')) return reply(text("Waiting."));
        return reply(toolCall("deploy", { ref: call.lastUserText ?? "" }, { id: `deploy-${call.prompt.length}` }));
      })
    );
  }

  override getActions() {
    return {
      deploy: action({
        description: "Deploy to production.",
        inputSchema: z.object({ ref: z.string() }),
        kind: "durable-pause",
        approvalRisk: "high",
        idempotencyKey: ({ input }) => input.ref,
        execute: ({ ref }) => {
          this.sql`CREATE TABLE IF NOT EXISTS deployments (ref TEXT)`;
          this.sql`INSERT INTO deployments VALUES (${ref})`;
          return { deployed: ref };
        }
      })
    };
  }

  deployments() {
    this.sql`CREATE TABLE IF NOT EXISTS deployments (ref TEXT)`;
    return this.sql<{ ref: string }>`SELECT ref FROM deployments`.map(({ ref }) => ref);
  }
}
