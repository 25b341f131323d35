// The workspace as a class has it: tools in every turn, history by turn, files over HTTP, and what a crash leaves.
import { tool, type ToolSet } from "ai";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { Think, Workspace, type TurnContext, type WorkspaceAccess } from "../../src/index.ts";
import { TestBucket } from "../../src/features/workspace/workspace.test-support.ts";
import {
  createScript,
  createTestHost,
  everyCrash,
  reply,
  text,
  toolCall,
  type Script,
  type Step
} from "../../src/testing/index.ts";
import { installedModel } from "../../src/testing/model/installed-model.test-support.ts";

// The interpreter is a large module, and the crash run starts an agent per point.
vi.setConfig({ testTimeout: 60_000 });

const FILE_TOOLS = ["read", "write", "edit", "list", "find", "grep", "delete"];
const ALL_TOOLS = [...FILE_TOOLS, "bash"];
const LONG_PAGE = "a page of many words ".repeat(100);
const PNG = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3);

let script: Script;

class Files extends Think {
  override getModel() {
    return installedModel(script);
  }

  async ask(words: string, picture?: Uint8Array): Promise<string> {
    const url = `data:image/png;base64,${Buffer.from(picture ?? []).toString("base64")}`;
    const file = { type: "file" as const, mediaType: "image/png", url };
    const { requestId } = await this.saveMessages([
      { id: words, role: "user", parts: [{ type: "text", text: words }, ...(picture ? [file] : [])] }
    ]);
    return requestId;
  }

  async put(path: string, content: string | Uint8Array): Promise<void> {
    if (typeof content === "string") await this.workspace.writeFile(path, content);
    else await this.workspace.writeFileBytes?.(path, content);
  }

  async get(path: string): Promise<string | null> {
    return await this.workspace.readFile(path);
  }

  async paths(): Promise<string[]> {
    return (await this.workspace.glob("**/*")).map(({ path }) => path);
  }

  async versions(path: string) {
    return this.workspace instanceof Workspace ? await this.workspace.history(path) : [];
  }
}

class WithoutBash extends Files {
  override workspaceBash = false;
}

class Hurried extends Files {
  override workspaceBash = { timeout: 50 };
}

class Own extends Files {
  override getTools() {
    return { read: tool({ inputSchema: z.object({ path: z.string() }), execute: async () => "mine" }) };
  }
}

class None extends Files {
  override workspaceTools = false;
}

/** What is old and large leaves the messages soon. */
class Aging extends Files {
  override mediaEviction = { keepRecentMessages: 4, minPartBytes: 1_000 };

  override getTools() {
    return { fetch: tool({ inputSchema: z.object({}), execute: async () => ({ page: LONG_PAGE }) }) };
  }
}

class AgingWithoutTools extends Aging {
  override workspaceTools = false;
}

class WithOwnWorkspace extends Files {
  override workspace = new Workspace({ sql: this.ctx.storage.sql, namespace: "mine", name: () => this.name });
}

const bucket = new TestBucket();

class Large extends Files {
  override workspace = new Workspace({
    sql: this.ctx.storage.sql,
    r2: bucket,
    inlineThreshold: 10,
    name: () => this.name
  });
}

class Open extends Files {
  override authorizeWorkspace({ path, request }: WorkspaceAccess) {
    return request.headers.get("authorization") === "let me in" || path.startsWith("/public/");
  }

  async link(target: string, path: string): Promise<void> {
    if (this.workspace instanceof Workspace) await this.workspace.symlink(target, path);
  }
}

/** The tools of each turn, before hooks are put around them. */
const toolsOfTurns: ToolSet[] = [];

class Changing extends Files {
  override beforeTurn({ tools }: TurnContext) {
    toolsOfTurns.push(tools);
  }

  hurry() {
    this.workspaceBash = { timeout: 50 } as never;
  }

  move() {
    this.workspace = new Workspace({ sql: this.ctx.storage.sql, namespace: "second" });
  }

  disarm() {
    this.workspaceTools = false;
  }
}

const agents = {
  ...{ Files, WithoutBash, Hurried, Own, None, Aging, AgingWithoutTools, WithOwnWorkspace, Large, Open, Changing }
};

function open(steps: Step[] = []) {
  script = createScript(steps);
  return createTestHost({ agents });
}

const toolNames = (call = 0) => (script.calls[call]?.tools ?? []).map(({ name }) => name);

describe("in a turn", () => {
  test("the model writes, edits and searches, and each change is the turn's", async () => {
    const host = open([
      reply(toolCall("write", { path: "/notes.md", content: "one\ntwo\n" })),
      reply(toolCall("edit", { path: "/notes.md", old_string: "two", new_string: "three" })),
      reply(toolCall("grep", { query: "THREE" })),
      reply(text("done"))
    ]);
    const agent = await host.get(Files, "a");
    await agent.ask("go");
    expect(toolNames()).toEqual(ALL_TOOLS);
    expect(await agent.get("/notes.md")).toBe("one\nthree\n");
    const [version] = await agent.versions("/notes.md");
    expect(version).toMatchObject({ change: "update", turnId: expect.any(String) });
    expect(version?.turnId).toBe(version?.replacedByTurnId);
    expect(JSON.stringify(script.calls[3]?.prompt)).toContain("/notes.md:2: three");
  });

  test("bash is there by default; an object of options sets it up, false leaves out only bash", async () => {
    const host = open([
      reply(toolCall("bash", { script: "echo hi > /out; cat /out" })),
      reply(text("done")),
      reply(toolCall("bash", { script: "sleep 1000" })),
      reply(text("done")),
      reply(text("done"))
    ]);
    const agent = await host.get(Files, "a");
    await agent.ask("go");
    expect(toolNames()).toEqual(ALL_TOOLS);
    expect(await agent.get("/out")).toBe("hi\n");
    await (await host.get(Hurried, "b")).ask("go");
    expect(JSON.stringify(script.calls[3]?.prompt)).toContain('"exitCode":124');
    await (await host.get(WithoutBash, "c")).ask("go");
    expect(toolNames(4)).toEqual(FILE_TOOLS);
  });

  test("the tools are built once for all turns: a write is its own turn's, and a changed setting takes effect", async () => {
    const write = (content: string) => [reply(toolCall("write", { path: "/f", content })), reply(text("done"))];
    const sleep = [reply(toolCall("bash", { script: "sleep 1000" })), reply(text("done"))];
    const host = open([...write("one"), ...write("two"), ...sleep, ...write("three"), reply(text("done"))]);
    const agent = await host.get(Changing, "a");
    await agent.ask("first");
    await agent.ask("second");
    const [first, second] = toolsOfTurns;
    for (const name of ALL_TOOLS) expect(second?.[name]).toBe(first?.[name]);
    const [version] = await agent.versions("/f");
    expect(version?.replacedByTurnId).not.toBe(version?.turnId);

    await agent.hurry();
    await agent.ask("third");
    expect(toolsOfTurns[2]?.["bash"]).not.toBe(first?.["bash"]);
    expect(JSON.stringify(script.calls[5]?.prompt)).toContain('"exitCode":124');

    await agent.move();
    await agent.ask("fourth");
    expect(toolsOfTurns[3]?.["write"]).toBe(toolsOfTurns[2]?.["write"]);
    expect([await agent.get("/f"), await agent.versions("/f")]).toEqual(["three", []]);

    await agent.disarm();
    await agent.ask("fifth");
    expect(toolNames(8)).toEqual([]);
  });

  test("a tool of the class wins over the built-in one of its name; workspaceTools = false leaves all out", async () => {
    const host = open([reply(toolCall("read", { path: "/x" })), reply(text("done")), reply(text("done"))]);
    await (await host.get(Own, "a")).ask("go");
    expect(JSON.stringify(script.calls[1]?.prompt)).toContain("mine");
    await (await host.get(None, "b")).ask("go");
    expect(toolNames(2)).toEqual([]);
  });

  test("an image is shown again after a restart, and is never part of the transcript", async () => {
    const host = open([
      reply(toolCall("read", { path: "/pic.png" })),
      reply(text("a picture")),
      reply(text("still one"))
    ]);
    const agent = await host.get(Files, "a");
    await agent.put("/pic.png", PNG);
    await agent.ask("look");
    await host.restart();
    await (await host.get(Files, "a")).ask("again");
    const shown = Buffer.from(PNG).toString("base64");
    const prompts = script.calls.map(({ prompt }) => promptText(prompt));
    expect(prompts[1]).toContain(shown);
    expect(prompts[2]).toContain(shown);
    const messages = await (await host.fetch("/agents/files/a/get-messages")).text();
    expect(messages).toContain("image/png");
    expect(messages).not.toContain(shown);
  });

  test("a workspace of the class's own on ctx.storage.sql is used, and survives a restart", async () => {
    const host = open([reply(toolCall("write", { path: "/f", content: "x" })), reply(text("done"))]);
    await (await host.get(WithOwnWorkspace, "a")).ask("go");
    await host.restart();
    expect(await (await host.get(WithOwnWorkspace, "a")).get("/f")).toBe("x");
    expect(host.sql(WithOwnWorkspace, "a", "SELECT COUNT(*) AS n FROM cf_workspace_mine")).toEqual([{ n: 1 }]);
  });

  test("an agent that never writes a file has no tables for them", async () => {
    const host = open([reply(text("hi"))]);
    await (await host.get(Files, "a")).ask("hello");
    expect(host.sql(Files, "a", "SELECT name FROM sqlite_master WHERE name LIKE 'cf_workspace%'")).toEqual([]);
  });
});

describe("old media", () => {
  const PICTURE = Uint8Array.from({ length: 2_000 }, (_, index) => PNG[index] ?? index % 251);
  const place = "/attachments/evicted/look-0.png";

  async function aged(Class: typeof Aging, then: Step[]) {
    const host = open([
      reply(toolCall("fetch", {}, { id: "c1" })),
      ...Array.from({ length: 4 }, (_, index) => reply(text(`answer ${index}`))),
      ...then
    ]);
    const agent = await host.get(Class, "a");
    await agent.ask("look", PICTURE);
    for (const words of ["two", "three", "four"]) await agent.ask(words);
    await host.advance(1_000);
    return { host, agent };
  }

  test("become files that their messages name, and the model reads them as what they were", async () => {
    const { host, agent } = await aged(Aging, [
      reply(toolCall("read", { path: place }), toolCall("list", { path: "/attachments/evicted" })),
      reply(text("done"))
    ]);
    const messages = await (await host.fetch("/agents/aging/a/get-messages")).text();
    expect(messages).toContain(`[evicted image/png, 2000 bytes; preserved at ${place}]`);
    expect(messages).not.toContain(LONG_PAGE);
    const paths = await agent.paths();
    const page = paths.find((path) => path.endsWith(".txt")) ?? "";
    expect(messages).toContain(`preserved at ${page}]`);
    expect(await agent.get(page)).toBe(LONG_PAGE);
    await agent.ask("five");
    const prompt = promptText(script.calls.at(-1)?.prompt);
    expect(prompt).toContain(Buffer.from(PICTURE).toString("base64"));
    expect(prompt).toContain("look-0.png (2.0 KB)");
  });

  test("stay with their messages in a class whose model has no file tools", async () => {
    const { agent } = await aged(AgingWithoutTools, []);
    expect(await agent.paths()).toEqual([]);
  });
});

/** Media may be bytes in a prompt, or base64. */
function promptText(prompt: unknown): string {
  return JSON.stringify(prompt, (_key, value: unknown) =>
    value instanceof Uint8Array ? Buffer.from(value).toString("base64") : value
  );
}

describe("over HTTP", () => {
  const LET_IN = { authorization: "let me in" };
  const address = (path: string) => `/agents/open/a/workspace${path}`;

  test("there is no such address unless the class says who may, and no file for those who may not", async () => {
    const host = open();
    await (await host.get(Files, "a")).put("/secret", "x");
    expect((await host.fetch("/agents/files/a/workspace/secret")).status).toBe(404);
    await (await host.get(Open, "a")).put("/secret", "x");
    const refused = await host.fetch(address("/secret"));
    expect(refused.status).toBe(403);
    expect(await refused.text()).not.toContain("x\n");
    expect((await host.fetch(address("/secret"), { method: "PUT", body: "y" })).status).toBe(403);
    expect(await (await host.get(Open, "a")).get("/secret")).toBe("x");
  });

  test("what is stored is sent as a download that no browser runs", async () => {
    const host = open();
    await (await host.get(Open, "a")).put("/d/evil \"ü'.html", "<script>alert(1)</script>");
    const answer = await host.fetch(address(`/d/${encodeURIComponent("evil \"ü'.html")}`), { headers: LET_IN });
    expect(answer.status).toBe(200);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      "content-type": "text/html",
      "content-disposition": "attachment; filename*=UTF-8''evil%20%22%C3%BC%27.html",
      "content-security-policy": "sandbox; default-src 'none'",
      "x-content-type-options": "nosniff"
    });
    expect(await answer.text()).toBe("<script>alert(1)</script>");
  });

  test("a file is written and read back, whole, by range, and not at all when it is known", async () => {
    const host = open();
    const body = Uint8Array.from({ length: 600_000 }, (_, index) => index % 251);
    const made = await host.fetch(address("/up/file.bin"), { method: "PUT", body, headers: LET_IN });
    expect(made.status).toBe(201);
    expect(await made.json()).toEqual({ path: "/up/file.bin", size: 600_000 });
    const get = async (headers: Record<string, string> = {}) =>
      await host.fetch(address("/up/file.bin"), { headers: { ...LET_IN, ...headers } });
    const whole = await get();
    expect(Buffer.compare(new Uint8Array(await whole.arrayBuffer()), body)).toBe(0);
    const part = await get({ range: "bytes=262140-262149" });
    expect([part.status, part.headers.get("content-range")]).toEqual([206, "bytes 262140-262149/600000"]);
    expect(new Uint8Array(await part.arrayBuffer())).toEqual(body.slice(262_140, 262_150));
    expect(new Uint8Array(await (await get({ range: "bytes=-5" })).arrayBuffer())).toEqual(body.slice(-5));
    expect((await get({ range: "bytes=600000-" })).status).toBe(416);
    expect((await get({ "if-none-match": whole.headers.get("etag") ?? "" })).status).toBe(304);
    const replaced = await host.fetch(address("/up/file.bin"), {
      method: "PUT",
      body: "small",
      headers: { ...LET_IN, "content-type": "text/x-mine; charset=utf-8" }
    });
    expect(replaced.status).toBe(200);
    expect((await get()).headers.get("content-type")).toBe("text/x-mine");
  });

  test("a directory lists its entries; what cannot be done has a status and a reason", async () => {
    const host = open();
    await (await host.get(Open, "a")).put("/d/f", "12345");
    const listed = await host.fetch(address("/d"), { headers: LET_IN });
    expect(await listed.json()).toMatchObject({ path: "/d", entries: [{ name: "f", type: "file", size: 5 }] });
    const status = async (path: string, init: RequestInit = {}) =>
      (await host.fetch(address(path), { headers: LET_IN, ...init })).status;
    expect(await status("/none")).toBe(404);
    expect(await status("/d", { method: "PUT", body: "x" })).toBe(409);
    expect(await status("/d/f/g", { method: "PUT", body: "x" })).toBe(409);
    expect(await status("/%00")).toBe(400);
    expect(await status("/%E0%A4%A")).toBe(400);
    expect(await status(`/${"x".repeat(5_000)}`)).toBe(414);
    expect(await status("/f", { method: "DELETE" })).toBe(405);
    expect(
      await status("/big", {
        method: "PUT",
        body: new Uint8Array(10),
        headers: { ...LET_IN, "content-length": "200000000" }
      })
    ).toBe(413);
  });

  test("a link leads only to where the class lets the request go", async () => {
    const host = open();
    const agent = await host.get(Open, "a");
    await agent.put("/secret/key", "x");
    await agent.put("/public/page", "y");
    for (const [target, name] of [
      ["/secret/key", "to-file"],
      ["/secret", "to-directory"],
      ["/secret/new", "to-nothing"],
      ["page", "inside"]
    ] as const)
      await agent.link(target, `/public/${name}`);
    const status = async (path: string, init: RequestInit = {}) => (await host.fetch(address(path), init)).status;
    for (const path of ["/public/to-file", "/public/to-directory", "/public/to-directory/key", "/public/to-nothing"]) {
      expect(await status(path)).toBe(403);
      expect(await status(path, { method: "PUT", body: "z" })).toBe(403);
    }
    expect(await agent.get("/secret/key")).toBe("x");
    expect(await agent.get("/secret/new")).toBeNull();
    expect(await status("/public/inside")).toBe(200);
    expect(await status("/public/to-file", { headers: LET_IN })).toBe(200);
  });

  test("a path in an address stays inside, however it is written", async () => {
    const host = open();
    await (await host.get(Open, "a")).put("/f", "x");
    expect((await host.fetch(address("/a/..%2f..%2ff"), { headers: LET_IN })).status).toBe(200);
  });
});

test("a destroyed agent leaves no object in R2", async () => {
  const agent = await open().get(Large, "a");
  await agent.put("/f", "more than ten bytes");
  expect(bucket.objects.size).toBe(1);
  await agent.destroy().catch(() => undefined);
  expect(bucket.objects.size).toBe(0);
});

test("killed at any write, a script's changes are all there or none is, and the turn goes on", async () => {
  const result = await everyCrash({
    create: () =>
      open([
        reply(
          toolCall("bash", { script: "mkdir -p d/e; echo 1 > d/a; echo 2 > d/e/b; rm old; ln -s d l; echo 3 > kept" })
        ),
        reply(text("done")),
        ...Array.from({ length: 3 }, () => reply(text("done")))
      ]),
    script: async (host) => {
      const agent = await host.get(Files, "a");
      await agent.put("/old", "x");
      await agent.put("/kept", "y");
      await agent.ask("go");
    },
    finish: async (host) => {
      await host.advance(120_000);
      const paths = await (await host.get(Files, "a")).paths();
      const hasChanges = paths.includes("/d");
      if (hasChanges) expect(paths).toEqual(["/d", "/d/a", "/d/e", "/d/e/b", "/kept", "/l"]);
      else expect(paths.filter((path) => path !== "/old" && path !== "/kept")).toEqual([]);
    },
    inspect: () => "all or nothing",
    points: "writes"
  });
  expect(result.points).toBeGreaterThan(10);
});
