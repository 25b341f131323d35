// The worker the browser talks to: a chat agent written and bundled the way a user does it, with `everthink` from dist/.
// Beside chatting it takes orders from the test over HTTP, on the agent itself, because its gate lives there.
import { tool, type ToolSet } from "ai";
import { Think } from "everthink";
import { callable, routeAgentRequest } from "everthink/agent";
import { z } from "zod";
import { Gate } from "./gate.ts";
import { PlannedModel } from "./planned-model.ts";
import { SHOWN_FAILURE } from "./reply-plan.ts";

interface Env {
  ChatAgent: DurableObjectNamespace<ChatAgent>;
}

const details = z.object({ detail: z.string() });

export class ChatAgent extends Think<Env> {
  override openAIEndpoint = true;
  readonly #gate = new Gate();
  #answers = 0;
  #mails = 0;

  override getModel() {
    return new PlannedModel(this.#gate, () => (this.#answers += 1));
  }

  override getTools(): ToolSet {
    return {
      add: tool({
        description: "Adds two numbers.",
        inputSchema: z.object({ left: z.number(), right: z.number() }),
        execute: ({ left, right }) => ({ sum: left + right })
      }),
      sendMail: tool({
        description: "Sends a mail, if the user agrees.",
        inputSchema: z.object({ to: z.string() }),
        needsApproval: true,
        execute: ({ to }) => ({ sentTo: to, mails: (this.#mails += 1) })
      }),
      // Without `execute`: the page answers.
      browserName: tool({ description: "Which browser this is.", inputSchema: details }),
      pageTitle: tool({ description: "The title of the page.", inputSchema: details })
    };
  }

  override onChatError(): Error {
    return new Error(SHOWN_FAILURE);
  }

  override async onRequest(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname.endsWith("/gate")) {
      this.#gate.open(Number(searchParams.get("permits")));
      return Response.json({ ok: true });
    }
    if (pathname.endsWith("/history")) {
      await this.addMessages(history(Number(searchParams.get("messages"))));
      return Response.json({ ok: true });
    }
    if (pathname.endsWith("/mails")) return Response.json(this.#mails);
    return new Response("Not found", { status: 404 });
  }

  /** Answered on the caller's socket, so behind every frame sent to it before. */
  @callable()
  fence(): string {
    return "passed";
  }
}

function history(count: number) {
  return Array.from({ length: count }, (_, index) => ({
    id: `history-${index}`,
    role: index % 2 === 0 ? ("user" as const) : ("assistant" as const),
    parts: [{ type: "text" as const, text: `Message ${index} of a long conversation. `.repeat(8) }]
  }));
}

/** As `cors: true`, and DELETE, with which a page over HTTP stops an answer. */
const CORS = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Allow-Methods": "GET, POST, DELETE, HEAD, OPTIONS",
  "Access-Control-Allow-Headers": "*"
};

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const response = await routeAgentRequest(request, env, { cors: CORS });
    return response ?? new Response("Not found", { status: 404 });
  }
};
