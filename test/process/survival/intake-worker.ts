// An agent that takes submissions over HTTP and answers each in a few pieces.
import { Think } from "everthink";
import { routeAgentRequest } from "everthink/agent";
import { reply, scriptedModel, text, waitFor } from "../../../src/testing/model/index.ts";

interface Env {
  Intake: DurableObjectNamespace<Intake>;
}

/** Between two pieces of an answer: long enough for kills to fall into answers. */
const PIECE_MS = 8;

export class Intake extends Think<Env> {
  // Short, so that recovery by the alarm alone takes a moment and not half a minute.
  static override options = { keepAliveIntervalMs: 300 };
  // What the model is shown is the question.
  override hydrationByteBudget = 2_000;

  override getModel() {
    const pause = () => waitFor(() => scheduler.wait(PIECE_MS));
    return scriptedModel(() => reply(text("one "), pause(), text("two "), pause(), text("three")));
  }

  override authorizeSubmission() {
    return true;
  }

  override async onRequest(): Promise<Response> {
    const submissions = this.sql`SELECT id, key_name, status FROM cf_submissions ORDER BY seq`;
    const messages = this.sql`SELECT id, role FROM assistant_messages ORDER BY sequence`;
    return Response.json({ submissions, messages });
  }
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    return (await routeAgentRequest(request, env)) ?? new Response("Not found", { status: 404 });
  }
};
