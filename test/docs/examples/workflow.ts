import { Agent } from "everthink/agent";
// "everthink/workflows" in an application.
import { AgentWorkflow } from "everthink/workflows";
import type { AgentWorkflowEvent, AgentWorkflowStep } from "everthink/workflows";

interface LibraryEnv {
  Library: DurableObjectNamespace<Library>;
}

type ImporterStep = AgentWorkflowStep<{ step: string }, { imported: number }>;

// docs: workflow
export class Library extends Agent<LibraryEnv, { imported: number }> {
  override initialState = { imported: 0 };

  importFrom(url: string) {
    return this.runWorkflow("IMPORTER", { url }, { metadata: { url } });
  }

  approve(workflowId: string) {
    return this.sendWorkflowEvent("IMPORTER", workflowId, { type: "approved", payload: this.name });
  }

  override onWorkflowComplete(_workflowName: string, workflowId: string, result: unknown) {
    this.broadcast(JSON.stringify({ type: "imported", workflowId, result }));
  }

  store(titles: string[]) {
    return titles.length;
  }
}

export class Importer extends AgentWorkflow<Library, { url: string }, { step: string }> {
  override async run(event: AgentWorkflowEvent<{ url: string }>, step: ImporterStep) {
    const titles = await step.do("read", async () => [event.payload.url]);
    await step.reportProgress({ step: "read" }); // onWorkflowProgress
    await step.waitForEvent("approval", { type: "approved" });
    const stored = await step.do("store", () => this.agent.store(titles));
    await step.mergeAgentState({ imported: stored });
    return stored; // onWorkflowComplete; throwing instead would be onWorkflowError
  }
}
