// An `agents/` directory through real Vite and workerd.
import { describe, expect, test } from "vitest";
import { until } from "../../browser/until.ts";
import { FrameworkProject, SMALLEST_CONFIG, SPEAKER } from "./framework-project.ts";

const SERVER = `import { WorkerEntrypoint } from "cloudflare:workers";
import manifest from "virtual:everthink/manifest";
import older from "virtual:think/manifest";
import config from "virtual:think/config";
import { thinkRouter } from "virtual:think/router";
import { thinkAgentRegistry } from "virtual:everthink/agents";
import { buildThinkAgentPath } from "virtual:everthink/server-entry";
export class Side extends WorkerEntrypoint { hello() { return "side"; } }
export default {
  async fetch(request, env, ctx, { router }) {
    const { pathname } = new URL(request.url);
    if (pathname === "/refused") return new Response("no", { status: 418 });
    if (pathname === "/side") return new Response(await ctx.exports.Side.hello());
    if (pathname === "/ids") return Response.json({
      ids: thinkAgentRegistry.map(({ id }) => id),
      same: JSON.stringify(manifest) === JSON.stringify(older),
      main: config.main,
      paths: [router, thinkRouter].map((one) => one.buildPath({ agent: "Support", name: "a b" })),
      helper: typeof buildThinkAgentPath
    });
    return null;
  },
  scheduled() {}
};
`;

const APP = {
  "agents/support.ts": `import { Agent } from "everthink/agent";
import Researcher from "./support/agents/researcher.ts";
export class Support extends Agent {
  async onRequest() {
    const researcher = await this.subAgent(Researcher, "r");
    return Response.json({ class: this.constructor.name, child: await researcher.who() });
  }
}
`,
  "agents/support/agents/researcher.ts": `import { Agent } from "everthink/agent";
export default class Researcher extends Agent {
  who() { return this.constructor.name; }
  async onRequest() { return Response.json({ class: this.constructor.name, name: this.name }); }
}
`,
  "agents/teller.ts": `import { agent } from "everthink/framework";
export default agent({ model: "none", onRequest: (request, self) => Response.json({ class: self.constructor.name }) });
`,
  "src/server.ts": SERVER
};

/** What the agents of the app answer, however its entry came to be. */
const ANSWERS = {
  "/agents/support/a": { class: "ThinkAgent_Support", child: "ThinkSubAgent_Support_Researcher" },
  "/agents/support/a/sub/researcher/x": { class: "ThinkSubAgent_Support_Researcher", name: "x" },
  "/agents/teller/a": { class: "ThinkAgent_Teller" }
};

/** Starts its workflow with the first request, and answers what came of it. */
const STARTER = `import { Agent } from "everthink/agent";
export default class Starter extends Agent<Cloudflare.Env, { isStarted: boolean; greeting: string }> {
  override initialState = { isStarted: false, greeting: "" };
  override async onRequest() {
    if (!this.state.isStarted) await this.runWorkflow("GREET", { name: "Ada" });
    this.setState({ ...this.state, isStarted: true });
    return Response.json(this.state);
  }
  override onWorkflowComplete(_workflowName: string, _workflowId: string, greeting: unknown) {
    this.setState({ ...this.state, greeting: String(greeting) });
  }
}
`;

const WORKFLOW = `import { AgentWorkflow, type AgentWorkflowEvent, type AgentWorkflowStep } from "everthink/workflows";
import type { Agent } from "everthink/agent";
export class Greet extends AgentWorkflow<Agent, { name: string }> {
  override run(event: AgentWorkflowEvent<{ name: string }>, step: AgentWorkflowStep) {
    return step.do("greet", async () => "Hello " + event.payload.name);
  }
}
`;

const TYPED = `import { Greet } from "virtual:everthink/entry";
export async function begin(env: Cloudflare.Env): Promise<string> {
  await env.GREET.create({ params: { name: "Ada" } });
  // @ts-expect-error The workflow takes a name.
  await env.GREET.create({ params: { title: "Ada" } });
  return Greet.name;
}
`;

const COMPILER_OPTIONS = {
  ...{ target: "es2024", module: "esnext", moduleResolution: "bundler", lib: ["es2024", "esnext.disposable"] },
  ...{ types: ["@cloudflare/workers-types"], strict: true, noImplicitOverride: true, noEmit: true, skipLibCheck: true },
  allowImportingTsExtensions: true
};

async function command(project: FrameworkProject, ...args: readonly string[]) {
  const run = project.everthink(args);
  return { code: await run.ended, output: run.output };
}

describe("a project with agents", () => {
  test("is built and served with nothing about its agents in the Wrangler file", async () => {
    const project = new FrameworkProject(APP);
    expect((await project.build()).error).toBe("");
    const built = JSON.parse(project.read("dist/app/wrangler.json")) as Record<string, unknown>;
    expect(built["durable_objects"]).toEqual({
      bindings: ["ThinkAgent_Support", "ThinkAgent_Teller"].map((name) => ({ name, class_name: name }))
    });
    expect(built["migrations"]).toEqual([
      { tag: "v1", new_sqlite_classes: ["ThinkAgent_Support", "ThinkAgent_Teller"] }
    ]);
    expect(project.read("wrangler.jsonc")).toBe(SMALLEST_CONFIG);

    const served = project.serve();
    for (const [path, body] of Object.entries(ANSWERS)) expect(await served.json(path)).toEqual(body);
    expect(await served.json("/ids")).toEqual({
      ids: ["support", "support/researcher", "teller"],
      same: true,
      main: "virtual:everthink/entry",
      paths: ["/agents/support/a%20b", "/agents/support/a%20b"],
      helper: "function"
    });
    expect((await served.fetch("/refused")).status).toBe(418);
    expect(await (await served.fetch("/side")).text()).toBe("side");
    expect((await served.fetch("/nothing")).status).toBe(404);
    served.child.kill("SIGTERM");
    await served.ended;
  });

  test("ejected, it is built without the plugin and answers the same", async () => {
    const server = SERVER.replaceAll(/^import .* from "virtual:.*\n/gm, "").replace(
      / {4}if \(pathname === "\/ids"[^]*?}\);\n/,
      ""
    );
    expect(server).not.toContain("virtual:");
    const project = new FrameworkProject({ ...APP, "src/server.ts": server });
    expect(await command(project, "eject", "src/worker.ts")).toMatchObject({ code: 0 });
    project.put({ "wrangler.jsonc": SMALLEST_CONFIG.replace("virtual:everthink/entry", "src/worker.ts") });
    expect(await command(project, "config", "--write")).toEqual({ code: 0, output: "wrangler.jsonc written.\n" });
    expect(await command(project, "inspect")).toMatchObject({
      code: 0,
      output: expect.stringMatching(/Diagnostics\n {2}none/)
    });
    expect((await project.build({ think: false, isConfigMerged: false })).error).toBe("");

    const served = project.serve();
    for (const [path, body] of Object.entries(ANSWERS)) expect(await served.json(path)).toEqual(body);
    expect((await served.fetch("/refused")).status).toBe(418);
    expect(await (await served.fetch("/side")).text()).toBe("side");
    expect((await served.fetch("/nothing")).status).toBe(404);
    expect((await served.fetch("/agents/support/a/sub/stranger/x")).status).toBe(404);
    expect((await served.fetch("/agents/support/%E0")).status).toBe(400);
    served.child.kill("SIGTERM");
    await served.ended;
  });

  test("a workflow file is exported, bound and typed, and a call that names none is shown", async () => {
    const project = new FrameworkProject({
      "agents/shop.ts": STARTER.replace("GREET", "GERET"),
      "agents/shop/workflows/greet.ts": WORKFLOW,
      "begin.ts": TYPED,
      "tsconfig.json": JSON.stringify({ compilerOptions: COMPILER_OPTIONS, include: ["agents", "*.ts"] })
    });
    const { error, output } = await project.build();
    expect(error).toBe("");
    expect(output).toMatch(/agents\/shop\.ts:5:\d+: \[unknown-workflow-binding\] runWorkflow\("GERET"\)/);
    const built = JSON.parse(project.read("dist/app/wrangler.json")) as Record<string, unknown>;
    expect(built["workflows"]).toEqual([{ name: "app-greet", binding: "GREET", class_name: "Greet" }]);
    expect(project.read("dist/app/index.js")).toMatch(/export \{[^}]*\bGreet\b/);

    expect(await command(project, "types")).toMatchObject({ code: 0 });
    // What eject writes is code that a strict compiler takes.
    expect(await command(project, "eject", "worker.ts")).toMatchObject({ code: 0 });
    expect(project.compile()).toBe("");
  });

  test("without the merged configuration the build fails and names what is missing", async () => {
    const project = new FrameworkProject({ "agents/support.ts": SPEAKER });
    const { error } = await project.build({ isConfigMerged: false });
    expect(error).toContain('[missing-durable-object-class] ThinkAgent_Support, the class of agent "support"');
    expect(error).toContain("[missing-migration-class]");
    expect(error).toContain("everthink config --write");
  });

  test("a renamed file fails the build with the migration that keeps its data", async () => {
    const config = {
      ...(JSON.parse(SMALLEST_CONFIG) as object),
      migrations: [{ tag: "v1", new_sqlite_classes: ["ThinkAgent_Support"] }]
    };
    const project = new FrameworkProject({ "agents/help.ts": SPEAKER, "wrangler.jsonc": JSON.stringify(config) });
    expect((await project.build()).error).toContain(`{ "from": "ThinkAgent_Support", "to": "ThinkAgent_Help" }`);
    project.put({ "agents/help.ts": `export const className = "ThinkAgent_Support";\n${SPEAKER}` });
    expect((await project.build()).error).toBe("");
  });

  test("a broken agent file shows its own error, and one without an agent its place", async () => {
    const project = new FrameworkProject({ "agents/support.ts": "export default class {\n  async onRequest( {\n" });
    const { error } = await project.build();
    expect(error).toMatch(/agents\/support\.ts:[23]/);
    expect(error).not.toMatch(/virtual:|generate/);
    project.put({ "agents/support.ts": "// nothing yet\nexport const limit = 3;\n" });
    expect((await project.build()).error).toContain(
      "agents/support.ts:2:8: [missing-agent-export] agents/support.ts exports no agent."
    );
  });
});

describe("the development server", () => {
  test("an agent file that appears is reached, one that vanishes is 404, and types follow", async () => {
    const project = new FrameworkProject({ "agents/support.ts": `import "zod";\n${SPEAKER}` });
    const { url, run } = await project.develop();
    const status = async (path: string) => (await fetch(url + path).catch(() => undefined))?.status;
    const untilAnswered = (path: string, isFound = true) =>
      until({
        what: `${path} is ${isFound ? "there" : "gone"}`,
        look: () => status(path),
        // Between two servers there is no answer at all.
        fits: (seen) => seen !== undefined && (seen === 200) === isFound,
        tell: String,
        deadlineMs: 60_000
      });
    await untilAnswered("/agents/support/a");
    // What the agents and the generated entry import was found before the first request: none made the Worker load anew.
    expect(run.output).toContain("bundling dependencies");
    expect(run.output).not.toMatch(/dependency optimized|program reload/);
    expect((await (await fetch(`${url}/__think/manifest`)).json()) as object).toMatchObject({ routePrefix: "/agents" });

    project.put({ "agents/broken.ts": "export const nothing = 1;\n" });
    await run.says(/\[missing-agent-export\] agents\/broken.ts/);
    expect(await status("/agents/support/a")).toBe(200);

    project.put({ "agents/broken.ts": STARTER, "src/workflows/greet.ts": WORKFLOW });
    await untilAnswered("/agents/broken/a");
    expect(project.read("everthink.d.ts")).toContain("ThinkAgent_Broken");
    await until({
      what: "the workflow that appeared has run and told its agent",
      look: async () => (await fetch(`${url}/agents/broken/a`)).text(),
      fits: (text) => text.includes("Hello Ada"),
      tell: String,
      deadlineMs: 60_000
    });

    project.delete("agents/broken.ts");
    await untilAnswered("/agents/broken/a", false);
    await untilAnswered("/agents/support/a");
    expect(project.read("everthink.d.ts")).not.toContain("ThinkAgent_Broken");
    // The server starts anew six times; each wait has its own limit.
  }, 300_000);
});
