// Routing, the entry and agent files, on the in-process host: the requests reach real objects.
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { Agent } from "../../agent-class/index.ts";
import { createTestHost, reply, scriptedModel, text, type AgentClass } from "../../testing/index.ts";
import { agent } from "../definition.ts";
import { discoverThinkApp } from "../manifest/discover.ts";
import { applyUserBindingNames } from "../project/project.ts";
import { thinkAgentClass } from "./agent-module.ts";
import { buildThinkAgentPath, parseThinkAgentPath } from "./agent-path.ts";
import { createThinkRouter, resolveThinkSubAgentName } from "./router.ts";
import { createThinkWorkerEntry, type ThinkWorkerEntryOptions } from "./worker-entry.ts";

const files = [
  "agents/support.ts",
  "agents/support/agents/researcher.ts",
  "agents/support/agents/researcher/agents/reader.ts",
  "agents/sales.ts",
  "agents/sales/agents/researcher.ts",
  "agents/my-assistant.ts"
];
const plain = discoverThinkApp({ files });
const prefixed = discoverThinkApp({ files, routePrefix: "/api/agents" });

/** Says who it is and what it was asked; has all three levels below it. */
class Speaker extends Agent<object> {
  override async onRequest(request: Request) {
    const { pathname } = new URL(request.url);
    return Response.json({ class: this.constructor.name, name: this.name, path: pathname });
  }
  override async onConnect(connection: { send(text: string): void }) {
    connection.send(`${this.constructor.name} ${this.name}`);
  }
}

/** The classes of the manifest, as the generated module makes them. */
function classes(manifest = plain) {
  return Object.fromEntries(
    manifest.agents.map(({ className, sourcePath }) => [
      className,
      thinkAgentClass({ default: class extends Speaker {} }, { className, path: sourcePath })
    ])
  );
}

function hostOf(manifest = plain, options: Partial<ThinkWorkerEntryOptions> = {}) {
  const all = classes(manifest);
  const bound = manifest.agents.filter(({ kind }) => kind === "top-level");
  const agents = Object.fromEntries(
    bound.map(({ className, bindingName }) => [bindingName ?? className, all[className]])
  ) as Record<string, AgentClass>;
  const exports = manifest.agents.flatMap(({ kind, className }) => (kind === "sub-agent" ? [all[className]!] : []));
  const entry = createThinkWorkerEntry({ manifest, ...options }) as {
    fetch(request: Request, env: unknown, ctx?: unknown): Promise<Response>;
  };
  return createTestHost({ agents, exports, worker: { fetch: (request, env) => entry.fetch(request, env) } });
}

const answer = async (response: Response) => (await response.json()) as { class: string; name: string; path: string };

describe("paths", () => {
  test("the example of the documents goes there and back", () => {
    const manifest = discoverThinkApp({
      files: ["agents/assistant.ts", "agents/assistant/agents/my-assistant.ts"],
      routePrefix: "/api/agents"
    });
    const route = { agent: "ThinkAgent_Assistant", name: "sunil", sub: [{ agent: "MyAssistant", name: "chat-1" }] };
    const path = "/api/agents/assistant/sunil/sub/my-assistant/chat-1";
    expect(buildThinkAgentPath(route, manifest)).toBe(path);
    expect(parseThinkAgentPath(path, manifest)).toEqual({
      agent: "assistant",
      name: "sunil",
      sub: [{ agent: "my-assistant", name: "chat-1" }]
    });
  });

  test("building and parsing are inverse for every name", () => {
    const name = fc.string({ minLength: 1, unit: "grapheme" });
    fc.assert(
      fc.property(name, name, (first, second) => {
        const route = { agent: "support", name: first, sub: [{ agent: "researcher", name: second }] };
        expect(parseThinkAgentPath(buildThinkAgentPath(route, plain), plain)).toEqual(route);
      })
    );
  });

  test.each([
    "/other/support/a",
    "/agents",
    "/agents/support",
    "/agents/support/a/files",
    "/agentsx/support/a",
    "/agents/a/%E0%A4%A"
  ])("%s is no agent's path", (path) => {
    expect(parseThinkAgentPath(path, plain)).toBeNull();
  });

  test("an alias is resolved for its parent", () => {
    const resolve = (parent: string) => resolveThinkSubAgentName("researcher", { parent, manifest: plain });
    expect([resolve("support"), resolve("sales"), resolve("my-assistant")]).toEqual([
      "ThinkSubAgent_Support_Researcher",
      "ThinkSubAgent_Sales_Researcher",
      undefined
    ]);
  });
});

describe("the entry", () => {
  test.each(["support", "Support", "ThinkAgent_Support", "think-agent--support"])(
    "reaches an agent as %s",
    async (name) => {
      expect(await answer(await hostOf().fetch(`/agents/${name}/ada`))).toMatchObject({
        class: "ThinkAgent_Support",
        name: "ada"
      });
    }
  );

  test("reaches it below a prefix, by id and by the binding's own name, over WebSocket", async () => {
    const manifest = applyUserBindingNames(prefixed, {
      durable_objects: { bindings: [{ name: "SalesDirectory", class_name: "ThinkAgent_Sales" }] }
    });
    const host = hostOf(manifest);
    for (const name of ["sales", "SalesDirectory", "sales-directory"]) {
      const socket = await host.connect(`/api/agents/${name}/x`);
      await host.idle();
      expect(socket.frames.some((frame) => frame === "ThinkAgent_Sales x")).toBe(true);
    }
    expect((await host.fetch("/agents/sales/x")).status).toBe(404);
  });

  test("the same alias reaches the sub-agent of its own parent, and nested ones", async () => {
    const host = hostOf();
    const at = async (path: string) => (await answer(await host.fetch(`/agents/${path}`))).class;
    expect(await at("support/a/sub/researcher/1")).toBe("ThinkSubAgent_Support_Researcher");
    expect(await at("sales/a/sub/researcher/1")).toBe("ThinkSubAgent_Sales_Researcher");
    expect(await at("support/a/sub/researcher/1/sub/reader/2")).toBe("ThinkSubAgent_Support_Researcher_Reader");
    expect((await host.fetch("/agents/support/a/sub/stranger/1")).status).toBe(404);
  });

  test("an answer of the app ends the request, nothing passes it on, and the rest is 404", async () => {
    const app = {
      default: {
        fetch(request: Request, _env: unknown, _ctx: unknown, think: { router: { buildPath(route: object): string } }) {
          const { pathname } = new URL(request.url);
          if (pathname === "/path") return new Response(think.router.buildPath({ agent: "sales", name: "x" }));
          return pathname === "/gone" ? new Response("gone", { status: 410 }) : null;
        }
      }
    };
    const host = hostOf(plain, { app });
    expect((await host.fetch("/gone")).status).toBe(410);
    expect(await (await host.fetch("/path")).text()).toBe("/agents/sales/x");
    expect((await host.fetch("/agents/sales/x")).status).toBe(200);
    const lost = await host.fetch("/nothing");
    expect([lost.status, await lost.text()]).toEqual([404, "Not found"]);
  });

  test("every handler of the app is kept, as an object and as a class", async () => {
    const scheduled = vi.fn();
    const entry = createThinkWorkerEntry({ manifest: plain, app: { default: { scheduled, other: 1 } } });
    expect(Object.keys(entry).sort()).toEqual(["fetch", "scheduled"]);
    (entry as { scheduled(event: string): void }).scheduled("event");
    expect(scheduled).toHaveBeenCalledWith("event");

    class App {
      constructor(
        readonly ctx: object,
        readonly env: object
      ) {}
      queue() {
        return "queued";
      }
      fetch(request: Request) {
        return new URL(request.url).pathname === "/own" ? new Response("own") : null;
      }
    }
    const Entry = createThinkWorkerEntry({ manifest: plain, app: { default: App } }) as typeof App;
    const instance = new Entry({}, {});
    expect(instance.queue()).toBe("queued");
    expect(await (await instance.fetch(new Request("http://x/own")))?.text()).toBe("own");
    expect((await instance.fetch(new Request("http://x/nothing")))?.status).toBe(404);
  });

  test("thinkFirst asks the agents before the app", async () => {
    const fetch = () => new Response("app");
    expect(await (await hostOf(plain, { fetch }).fetch("/agents/sales/x")).text()).toBe("app");
    expect(await answer(await hostOf(plain, { fetch, thinkFirst: true }).fetch("/agents/sales/x"))).toMatchObject({
      name: "x"
    });
  });

  test("malformed escapes are 400", async () => {
    expect((await hostOf().fetch("/agents/support/%E0%A4%A")).status).toBe(400);
    expect((await hostOf().fetch("/agents/support/a/sub/%FF/x")).status).toBe(400);
  });

  test("authorize is asked about the agent and every sub-agent, however the path names them, before one is woken", async () => {
    const asked: unknown[] = [];
    const host = hostOf(plain, {
      authorize: (request, route) => {
        asked.push(route);
        return request.headers.has("x-user") ? undefined : new Response("No", { status: 401 });
      }
    });
    const generated = "think-sub-agent--support--researcher";
    for (const path of [
      "support/a",
      "ThinkAgent_Support/a%2Fb",
      "support/a/sub/researcher/1",
      `think-agent--support/a/sub/${generated}/1`,
      `support/a/files/sub/${generated}/1`
    ]) {
      expect((await host.fetch(`/agents/${path}`)).status).toBe(401);
    }
    expect((await host.fetch("/agents/unknown/a")).status).toBe(404);
    const sub = [{ agent: "support/researcher", name: "1" }];
    expect(asked).toEqual([
      { agent: "support", name: "a" },
      { agent: "support", name: "a/b" },
      { agent: "support", name: "a", sub },
      { agent: "support", name: "a", sub },
      { agent: "support", name: "a", sub }
    ]);
    expect(host.counts.writes).toBe(0);
    expect((await host.fetch("/agents/support/a", { headers: { "x-user": "ada" } })).status).toBe(200);
    await expect(host.connect("/agents/support/a")).rejects.toThrow();
  });

  test("webhooks of messengers reach the named agent, with a path of its own", async () => {
    const host = hostOf(plain, { messengers: { agent: "support" } });
    expect(await answer(await host.fetch("/messengers/telegram/webhook", { method: "POST" }))).toEqual({
      class: "ThinkAgent_Support",
      name: "main",
      path: "/agents/think-agent--support/main/messengers/telegram/webhook"
    });
    expect(await answer(await host.fetch("/messengers/sales/north/slack/webhook"))).toMatchObject({
      class: "ThinkAgent_Sales",
      name: "north"
    });
    expect((await hostOf().fetch("/messengers/telegram/webhook")).status).toBe(404);
  });

  test("health is answered always, the manifest in development only", async () => {
    expect(await (await hostOf().fetch("/__think/health")).json()).toEqual({ status: "ok" });
    expect((await hostOf().fetch("/__think/manifest")).status).toBe(404);
    const host = hostOf(plain, { isDevelopment: true });
    expect(await (await host.fetch("/__think/manifest")).json()).toMatchObject({ routePrefix: "/agents" });
  });
});

describe("routeSubAgent", () => {
  const router = createThinkRouter({ manifest: plain });
  const parent = () => ({ fetch: vi.fn(async (request: Request) => new Response(new URL(request.url).pathname)) });
  const ask = (target: ReturnType<typeof parent>, path: string) =>
    router.routeSubAgent(new Request(`http://x${path}`), target, { parent: "support" });

  test("resolves names for the parent, and forwards", async () => {
    const response = await ask(parent(), "/chat/sub/researcher/child");
    expect(await response.text()).toBe("/chat/sub/think-sub-agent--support--researcher/child");
  });

  test.each(["/chat/sub/stranger/x", "/chat/sub/researcher/x/sub/stranger/y"])(
    "%s is 404 without the parent",
    async (path) => {
      const target = parent();
      expect((await ask(target, path)).status).toBe(404);
      expect(target.fetch).not.toHaveBeenCalled();
    }
  );

  test("without /sub/ the request is forwarded as it is", async () => {
    expect(await (await ask(parent(), "/chat/messages")).text()).toBe("/chat/messages");
  });

  test("the parent's gate sees the generated class and can refuse", async () => {
    const seen: unknown[] = [];
    class Gate extends Speaker {
      override onBeforeSubAgent(_request: Request, child: { className: string; name: string }) {
        seen.push(child);
        return new Response("no", { status: 403 });
      }
    }
    const Support = thinkAgentClass({ Gate }, { className: "ThinkAgent_Support", path: "agents/support.ts" });
    const entry = createThinkWorkerEntry({ manifest: plain }) as {
      fetch(request: Request, env: unknown): Promise<Response>;
    };
    const host = createTestHost({
      agents: { ThinkAgent_Support: Support },
      exports: [classes()["ThinkSubAgent_Support_Researcher"]!],
      worker: { fetch: (request, env) => entry.fetch(request, env) }
    });
    expect((await host.fetch("/agents/support/a/sub/researcher/1")).status).toBe(403);
    expect(seen).toEqual([{ className: "ThinkSubAgent_Support_Researcher", name: "1" }]);
  });
});

describe("agent files", () => {
  const at = { className: "ThinkAgent_A", path: "agents/a.ts" };
  class One extends Speaker {}
  class Two extends Speaker {}

  test.each<[string, object, string, string]>([
    ["nothing", {}, "agent-export-missing", "agents/a.ts exports no agent"],
    ["a helper", { helper() {} }, "agent-export-missing", 'starts with "_"'],
    ["a look-alike", { default: { model: 1 } }, "agent-export-missing", "agent({ … })"],
    ["two classes", { One, Two }, "agent-export-ambiguous", "agents/a.ts exports several agents (One, Two)"]
  ])("%s is refused with the file's path", (_case, module, code, message) => {
    expect(() => thinkAgentClass(module, at)).toThrow(
      expect.objectContaining({ code, message: expect.stringContaining(message) })
    );
  });

  test("the default wins, one under two names is one, and the class gets its generated name", () => {
    class Three extends Speaker {}
    class Four extends Speaker {}
    expect(thinkAgentClass({ default: Three, One }, at)).toBe(Three);
    expect(Three.name).toBe("ThinkAgent_A");
    expect(thinkAgentClass({ Four, Alias: Four, limit: 3, className: "x" }, at)).toBe(Four);
  });

  test("one class for two agents is refused", () => {
    class Shared extends Speaker {}
    thinkAgentClass({ Shared }, at);
    expect(() => thinkAgentClass({ Shared }, { className: "ThinkAgent_B", path: "agents/b.ts" })).toThrow(
      "agents/b.ts and agents/a.ts export the same class"
    );
  });
});

describe("agent()", () => {
  test("a definition answers over WebSocket and HTTP under its generated class, also as a sub-agent", async () => {
    const seen: string[] = [];
    const definition = agent<{ GREETING: string }>({
      model: (env) => scriptedModel([reply(text(env.GREETING))], { onExhausted: "repeat-last" }),
      prompt: "Be brief.",
      maxSteps: 3,
      beforeTurn: (context, self) => {
        seen.push(`${self.constructor.name} ${context.system.split("\n", 1)[0]} ${self.maxSteps}`);
      },
      callables: { double: (_self, value: number) => value * 2 }
    });
    const manifest = discoverThinkApp({ files: ["agents/a.ts", "agents/a/agents/b.ts"] });
    const [A, B] = manifest.agents.map(({ className, sourcePath: path }) =>
      thinkAgentClass({ default: definition }, { className, path })
    );
    const entry = createThinkWorkerEntry({ manifest }) as { fetch(request: Request, env: unknown): Promise<Response> };
    const host = createTestHost({
      agents: { ThinkAgent_A: A! },
      exports: [B!],
      env: { GREETING: "Hello." },
      worker: { fetch: (request, env) => entry.fetch(request, env) }
    });
    for (const path of ["/agents/a/x", "/agents/a/x/sub/b/y"]) {
      const socket = await host.connect(path);
      const user = { id: "u1", role: "user", parts: [{ type: "text", text: "Hi" }] };
      const init = { method: "POST", body: JSON.stringify({ messages: [user] }) };
      socket.send(JSON.stringify({ type: "cf_agent_use_chat_request", id: "r1", init }));
      socket.send(JSON.stringify({ type: "rpc", id: "c1", method: "double", args: [21] }));
      await host.idle();
      await host.advance(1_000);
      expect(await (await host.fetch(`${path}/get-messages`)).text()).toContain("Hello.");
      expect(JSON.stringify(socket.frames)).toContain("42");
    }
    expect(seen).toEqual(["ThinkAgent_A Be brief. 3", "ThinkSubAgent_A_B Be brief. 3"]);
  });

  test("a runner for scripts is a value, or made of the agent", () => {
    const runner = { run: async () => 1 };
    const made = (options: object) => agent({ model: "m", ...options }).createClass("ThinkAgent_A").prototype;
    const self = { workspace: "files" };
    expect(made({ skillScriptRunner: runner }).getSkillScriptRunner.call(self as never)).toBe(runner);
    const given = made({ skillScriptRunner: (one: object) => ({ run: async () => one }) });
    return expect(given.getSkillScriptRunner.call(self as never)?.run({} as never)).resolves.toBe(self);
  });

  test.each([
    [{ model: {}, prmpt: "x" }, 'agent() has no option "prmpt".'],
    [{ prompt: "x" }, "agent() needs a model."],
    [{ model: {}, beforeTurn: 3 }, "The option beforeTurn of agent() must be a function."],
    [{ model: {}, callables: { chat: () => 1 } }, "callables.chat would replace a method of Think."]
  ])("%j is refused: %s", (options, message) => {
    expect(() => agent(options as never)).toThrow(message);
  });
});
