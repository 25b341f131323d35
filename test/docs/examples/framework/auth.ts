// src/auth.ts
import type { ThinkAgentRoute } from "everthink/server-entry";
import { readSession } from "./session.ts";

export default async function authorize(request: Request, route: ThinkAgentRoute, env: SessionEnv) {
  const user = await readSession(request, env.SESSION_SECRET);
  if (user === undefined) return new Response("Log in first", { status: 401 });
  if (route.name !== user) return new Response("Not yours", { status: 403 });
}

export interface SessionEnv {
  SESSION_SECRET: string;
}
