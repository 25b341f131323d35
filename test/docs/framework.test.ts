// The examples of docs/framework.md and docs/custom-servers.md: a declared agent, and a Worker that knows who is asking.
import { createThinkWorkerEntry, thinkAgentClass } from "everthink/server-entry";
import { createTestHost } from "everthink/testing";
import { expect, test, vi } from "vitest";
import authorize from "./examples/framework/auth.ts";
import cook from "./examples/framework/cook.ts";
import server from "./examples/framework/server.ts";
import { readSession, sessionCookie } from "./examples/framework/session.ts";
import Support from "./examples/framework/support.ts";
import config from "./examples/framework/vite.config.ts";
import { user } from "../kit/messages.ts";
import { sendChat } from "../kit/frames.ts";

const manifest = {
  agents: [
    { id: "support", className: "ThinkAgent_Support", kind: "top-level" as const, aliases: ["support"] },
    { id: "cook", className: "ThinkAgent_Cook", kind: "top-level" as const, aliases: ["cook"] }
  ]
};

function hostWithLogin() {
  const entry = createThinkWorkerEntry({ manifest, authorize, app: { default: server } }) as {
    fetch(request: Request, env: unknown): Promise<Response>;
  };
  return createTestHost({
    agents: { ThinkAgent_Support: Support },
    env: { SESSION_SECRET: "a secret" },
    worker: { fetch: (request, env) => entry.fetch(request, env) }
  });
}

test("a person reaches agents of their own name, over HTTP and WebSocket, and a forged or old cookie nothing", async () => {
  const host = hostWithLogin();
  const status = async (name: string, cookie?: string) =>
    (await host.fetch(`/agents/support/${name}`, { headers: cookie === undefined ? {} : { cookie } })).status;
  const ada = (await sessionCookie("ada", "a secret")).split(";")[0] ?? "";
  expect(await status("ada", ada)).toBe(200);
  expect(await status("bob", ada)).toBe(403);
  expect(await status("ada")).toBe(401);
  expect(await status("ada", (await sessionCookie("ada", "another secret")).split(";")[0])).toBe(401);
  expect(await status("bob", ada.replace("ada", "bob"))).toBe(401);
  expect(await status("ada", (await sessionCookie("ada", "a secret", -1)).split(";")[0])).toBe(401);
  await host.connect("/agents/support/ada", { headers: { cookie: ada } });
  await expect(host.connect("/agents/support/bob", { headers: { cookie: ada } })).rejects.toThrow("403");
});

test.each(["ada.lovelace", "a@b.example", "a.1.b", "a;b c", "ü/%"])(
  "a session of %j is read as that name, and one without a secret is neither made nor read",
  async (name) => {
    const cookie = (await sessionCookie(name, "a secret")).split(";")[0] ?? "";
    const request = new Request("http://localhost/", { headers: { cookie } });
    expect(await readSession(request, "a secret")).toBe(name);
    const [content, last] = [cookie.slice(0, cookie.lastIndexOf(".")), cookie.slice(-1)];
    for (const forged of [
      `${cookie}0`,
      cookie.slice(0, -1),
      content,
      `${content}.`,
      cookie.replace("session=", "session=x"),
      cookie.slice(0, -1) + (last === "0" ? "1" : "0")
    ]) {
      const asking = new Request("http://localhost/", { headers: { cookie: forged } });
      expect([forged, await readSession(asking, "a secret")]).toEqual([forged, undefined]);
    }
    const missing = undefined as unknown as string;
    await expect(sessionCookie(name, missing)).rejects.toThrow("SESSION_SECRET is not set");
    await expect(readSession(request, missing)).rejects.toThrow("SESSION_SECRET is not set");
    await expect(readSession(request, "")).rejects.toThrow("SESSION_SECRET is not set");
  }
);

test("a login gives the cookie that opens one's own agent, which knows who is asking; a logout ends it", async () => {
  const host = hostWithLogin();
  const login = (password: string) => {
    const body = new URLSearchParams({ user: "ada", password });
    return host.fetch("/login", { method: "POST", body });
  };
  expect((await login("guessed")).status).toBe(401);
  const answer = await login("lovelace");
  expect([answer.status, answer.headers.get("location")]).toEqual([303, "/"]);
  const given = answer.headers.get("set-cookie") ?? "";
  expect(given).toMatch(/; HttpOnly; Secure; SameSite=Lax; Max-Age=86400$/);
  const cookie = given.split(";")[0] ?? "";
  const me = async (headers: Record<string, string>) => (await host.fetch("/me", { headers })).json();
  expect(await me({ cookie })).toEqual({ user: "ada", agent: "/agents/support/ada" });
  expect(await me({})).toEqual({ user: null, agent: null });
  const socket = await host.connect("/agents/support/ada", { headers: { cookie, "x-user": "root" } });
  socket.send("hello");
  await host.idle();
  expect(socket.frames).toContainEqual("ada asks ada's agent");
  const left = await host.fetch("/logout", { method: "POST", headers: { cookie } });
  expect(left.headers.get("set-cookie")).toMatch(/Max-Age=0$/);
  expect(await me({ cookie: (left.headers.get("set-cookie") ?? "").split(";")[0] ?? "" })).toMatchObject({
    user: null
  });
});

test("the declared agent answers with its model, and calls its hook", async () => {
  const log = vi.spyOn(console, "log").mockImplementation(() => {});
  const Cook = thinkAgentClass({ default: cook }, { className: "ThinkAgent_Cook", path: "agents/cook.ts" });
  const entry = createThinkWorkerEntry({ manifest }) as { fetch(request: Request, env: unknown): Promise<Response> };
  const host = createTestHost({
    agents: { ThinkAgent_Cook: Cook },
    env: { DISH: "soup" },
    worker: { fetch: (request, env) => entry.fetch(request, env) }
  });
  const socket = await host.connect("/agents/cook/ada");
  const message = user("u", "What shall I eat?");
  sendChat(socket, "r", [message]);
  await host.idle();
  await host.advance(1000);
  expect(await (await host.fetch("/agents/cook/ada/get-messages")).text()).toContain("Cook soup.");
  expect(log).toHaveBeenCalledWith("ada", 1);
});

test("the Vite configuration has the plugin before Cloudflare's", () => {
  const names = JSON.stringify(config.plugins);
  expect(names.indexOf('"everthink"')).toBeGreaterThan(-1);
  expect(names.indexOf('"everthink"')).toBeLessThan(names.indexOf('"vite-plugin-cloudflare"'));
});
