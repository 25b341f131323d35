// A lead with two helpers as tools, for the published clients: the helpers wait in the middle of what they say until a
// request lets them go on. Nothing is kept in memory that a kill must not take.
import { agentTool, Think } from "everthink";
import { routeAgentRequest } from "everthink/agent";
import { createGate, createScript, reply, scriptedModel, text, toolCall, type RecordedCall } from "everthink/testing";
import { z } from "zod";

interface Env {
  Lead: DurableObjectNamespace<Lead>;
}

/** Opened by `/go-on`, closed by `/hold`. In memory: a new process waits again. */
let gate = createGate();

const helper = { description: "Look one thing up.", inputSchema: z.object({ query: z.string() }) };

export class Lead extends Think<Env> {
  override getModel() {
    return scriptedModel(createScript(({ prompt }: RecordedCall) => leadStep(prompt)));
  }
  override getTools() {
    return { look: agentTool(Helper, { ...helper, displayName: "Helper", icon: "🔎" }) };
  }
}

function leadStep(prompt: RecordedCall["prompt"]) {
  if (prompt.some(({ role }) => role === "tool")) return reply(text("Both are back."));
  return reply(
    text("I ask two. "),
    toolCall("look", { query: "tides" }, { id: "call-tides" }),
    toolCall("look", { query: "winds" }, { id: "call-winds" })
  );
}

export class Helper extends Think<Env> {
  override getModel() {
    return scriptedModel(
      createScript(({ prompt }: RecordedCall) => {
        const isContinued = prompt.some(({ role }) => role === "assistant");
        return isContinued ? reply(text("second half")) : reply(text("first half, "), gate.wait(), text("second half"));
      })
    );
  }
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname === "/go-on") {
      gate.open();
      return new Response("ok");
    }
    if (pathname === "/hold") {
      gate = createGate();
      return new Response("ok");
    }
    return (await routeAgentRequest(request, env)) ?? new Response("Not found", { status: 404 });
  }
};
