// src/server.ts
import type { ThinkAppContext } from "everthink/server-entry";
import { readSession, sessionCookie } from "./session.ts";
import { checkPassword } from "./users.ts";

export default {
  async fetch(request: Request, env: SessionEnv, ctx: ExecutionContext, { router }: ThinkAppContext) {
    const { pathname } = new URL(request.url);
    if (pathname === "/login" && request.method === "POST") {
      const form = await request.formData();
      const user = await checkPassword(String(form.get("user")), String(form.get("password")));
      if (user === undefined) return new Response("Wrong name or password", { status: 401 });
      return seeOther("/", await sessionCookie(user, env.SESSION_SECRET));
    }
    if (pathname === "/logout" && request.method === "POST") {
      return seeOther("/login", await sessionCookie("", env.SESSION_SECRET, 0));
    }
    const user = await readSession(request, env.SESSION_SECRET);
    if (pathname === "/me") {
      const agent = user === undefined ? null : router.buildPath({ agent: "support", name: user });
      return Response.json({ user: user ?? null, agent });
    }
    // Agents learn who is asking from a header that only this server writes: what a client sends under that name is dropped.
    const headers = new Headers(request.headers);
    headers.delete("x-user");
    if (user !== undefined) headers.set("x-user", encodeURIComponent(user));
    return router.route(new Request(request, { headers }), env, ctx);
  }
};

function seeOther(location: string, cookie: string): Response {
  return new Response(null, { status: 303, headers: { location, "set-cookie": cookie } });
}

export interface SessionEnv {
  SESSION_SECRET: string;
}
