// What the Worker does besides its agents. A Response ends the request; null passes it on to them.
import { getAgentByName, hasBearerToken } from "everthink/agent";
import type { ThinkAppContext } from "everthink/server-entry";
import { z } from "zod";
import { EVENTS, login } from "./login.ts";

// Counts wrong passwords, over all processes of the app: LOGIN_ATTEMPTS of wrangler.jsonc.
export { LoginAttempts } from "everthink/login";

const webhook = z.object({ id: z.string().min(1).max(200), text: z.string().min(1).max(10_000) });

export default {
  async fetch(
    request: Request,
    env: Cloudflare.Env,
    ctx: ExecutionContext,
    app: ThinkAppContext
  ): Promise<Response | null> {
    if (new URL(request.url).pathname !== "/webhook") return login.fetch(request, env, ctx, app);
    if (request.method !== "POST") return new Response("POST only", { status: 405 });
    // Without the secret there is no sender to believe: nothing is accepted.
    if (!env.WEBHOOK_SECRET) return new Response("Set WEBHOOK_SECRET first", { status: 503 });
    if (!hasBearerToken(request, env.WEBHOOK_SECRET)) return new Response("Unauthorized", { status: 401 });
    const event = webhook.safeParse(await request.json().catch(() => undefined));
    if (!event.success) return new Response("Expected { id, text }", { status: 400 });
    const { id, text } = event.data;
    const assistant = await getAgentByName(env.ThinkAgent_Assistant, EVENTS);
    const message = { id, role: "user" as const, parts: [{ type: "text" as const, text: `Event ${id}: ${text}` }] };
    // The sender may repeat itself: one key is one turn.
    const { submissionId, accepted } = await assistant.submitMessages([message], { idempotencyKey: id });
    const conversation = app.router.buildPath({ agent: "assistant", name: EVENTS });
    return Response.json({ submissionId, accepted, conversation }, { status: accepted ? 202 : 200 });
  }
};
