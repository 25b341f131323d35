// The examples of the guides do what their pages say, with models that need no network.
import { readdirSync } from "node:fs";
import type { EmbeddingModel, UIMessage } from "ai";
import { expect, test, vi } from "vitest";
import { createThinkWorkerEntry } from "everthink/server-entry";
import { createScript, createTestHost, reply, scriptedModel, text, toolCall, type Script } from "everthink/testing";
import { user } from "../kit/messages.ts";
import { Archivist } from "./examples/guides/archivist.ts";
import { Analyst } from "./examples/guides/files.ts";
import { importHandbook } from "./examples/guides/import-handbook.ts";
import { Librarian } from "./examples/guides/librarian.ts";
import { Editor } from "./examples/guides/editor/agent.ts";
import { Researcher } from "./examples/guides/editor/agents/researcher.ts";
import { Assistant as Observed } from "./examples/guides/observed.ts";
import { Refunds } from "./examples/guides/refunds.ts";
import { login } from "./examples/guides/tenant-login.ts";
import tenantAuth from "./examples/guides/tenant-auth.ts";
import tenantServer from "./examples/guides/tenant-server.ts";
import { Desk } from "./examples/guides/tenants.ts";
import { upload } from "./examples/guides/upload.ts";

let script: Script;
const next = (...answers: ReturnType<typeof reply>[]) => void (script = createScript(answers));
const model = () => scriptedModel(script);

/** One dimension per word of interest. */
const embedding = (value: string) => ["tide", "wind", "lamp"].map((word) => (value.includes(word) ? 1 : 0.01));
const embeddings: EmbeddingModel = {
  specificationVersion: "v4",
  provider: "test",
  modelId: "words",
  maxEmbeddingsPerCall: 100,
  supportsParallelCalls: true,
  doEmbed: async ({ values }) => ({ embeddings: values.map(embedding), warnings: [] })
};
const HANDBOOK = "The tide turns every six hours.\n\nThe wind comes from the west.\n\nThe lamp burns oil.";

test("the librarian answers from the passage that fits best, also after a document was replaced", async () => {
  class Tested extends Librarian {
    override getModel = model;
    override getEmbeddingModel = () => embeddings;
  }
  next(reply(toolCall("lookUp", { question: "When does the tide turn?" })), reply(text("Every six hours (Handbook).")));
  const host = createTestHost({ agents: { Tested } });
  const librarian = await host.get(Tested, "handbook");
  expect(await librarian.learn("Handbook", "Old tide.")).toBe(1);
  expect(await importHandbook({ Librarian: host.env["Tested"] } as never, HANDBOOK)).toBe(3);
  expect(await librarian.runTurn({ input: "When does the tide turn?" })).toMatchObject({ status: "completed" });
  expect(await librarian.lookUp("wind", 1)).toMatchObject([
    { title: "Handbook", text: "The wind comes from the west." }
  ]);
  expect(await librarian.lookUp("tide")).toHaveLength(3);
  expect(JSON.stringify(await librarian.getMessages())).toMatch(
    /lookUp[^]*The tide turns every six hours\.[^]*Handbook/
  );
});

test("the archivist keeps its vectors in an index, in its own namespace, and leaves out what has no text", async () => {
  class Tested extends Archivist {
    override getEmbeddingModel = () => embeddings;
  }
  const index = new Map<string, { namespace: string; values: number[] }>();
  const VECTORS = {
    upsert: async (entries: { id: string; namespace: string; values: number[] }[]) =>
      void entries.forEach(({ id, ...entry }) => index.set(id, entry)),
    deleteByIds: async (ids: string[]) => void ids.forEach((id) => index.delete(id)),
    query: async (vector: number[], { topK, namespace }: { topK: number; namespace: string }) => ({
      matches: [...index]
        .filter(([, entry]) => entry.namespace === namespace)
        .map(([id, { values }]) => ({
          id,
          score: values.reduce((sum, value, at) => sum + value * (vector[at] ?? 0), 0)
        }))
        .toSorted((one, other) => other.score - one.score)
        .slice(0, topK)
    })
  };
  const host = createTestHost({ agents: { Tested }, env: { VECTORS } });
  const archivist = await host.get(Tested, "a");
  await archivist.learn("Handbook", "Old tide.");
  await archivist.learn("Handbook", HANDBOOK);
  await (await host.get(Tested, "b")).learn("Secret", "The tide of another.");
  expect([...index.values()].map(({ namespace }) => namespace)).toEqual(["a", "a", "a", "b"]);
  index.set("left by a crash", { namespace: "a", values: embedding("tide") });
  const found = await archivist.lookUp("tide");
  expect(found.map(({ text: passage }) => passage)[0]).toBe("The tide turns every six hours.");
  expect(found).toHaveLength(3);
});

const to = (name: string) => ({ agent: "desk", name });

test("a person reaches the agents of the own tenant, and tools and budgets are that tenant's", async () => {
  const env = { SESSION_SECRET: "0123456789abcdef0123456789abcdef", EVERTHINK_DEVELOPMENT: "1", LOGIN_USERS: "" };
  const asked = new Request("http://localhost/login", {
    method: "POST",
    body: "user=ada%40acme.example&password=",
    headers: { "content-type": "application/x-www-form-urlencoded", "content-length": "33" }
  });
  const unrouted = { router: { route: async () => new Response("agent") } };
  const given = await login.fetch(asked, env as never, undefined, unrouted);
  const cookie = given?.headers.get("set-cookie")?.split(";")[0] ?? "";
  const enters = async (name: string) => {
    const request = new Request("http://localhost/agents/desk/x", { headers: { cookie } });
    return (await login.authorize(request, to(name), env as never))?.status ?? 200;
  };
  const names = [
    "acme.example~ada@acme.example",
    "acme.example~team",
    "acme.example~bob@acme.example",
    "other.example~team"
  ];
  expect(await Promise.all(names.map(enters))).toEqual([200, 200, 403, 403]);

  const found: string[] = [];
  const ORDERS = {
    find: async (tenant: string, id: string) => {
      found.push(`${tenant} ${id}`);
      return { id };
    }
  };
  class Tested extends Desk {
    override getModel = model;
    override getPrices = () => [{ provider: "scripted", model: "scripted-model", input: 1, output: 1 }];
  }
  next(reply(toolCall("findOrder", { id: "17" })), reply(text("It is on its way.")));
  const host = createTestHost({ agents: { Tested }, env: { ORDERS } });
  const desk = await host.get(Tested, "acme.example~team");
  expect(await desk.runTurn({ input: "Where is order 17?" })).toMatchObject({ status: "completed" });
  expect(found).toEqual(["acme.example 17"]);
});

test("a refund above the limit waits for the finance team, and is paid once", async () => {
  const paid: string[] = [];
  const BANK = {
    refund: async (order: string, euros: number, { idempotencyKey }: { idempotencyKey: string }) => {
      paid.push(`${order} ${euros} ${idempotencyKey}`);
      return { receipt: `r-${order}` };
    }
  };
  class Tested extends Refunds {
    override getModel = model;
  }
  next(
    reply(toolCall("refund", { order: "7", euros: 9 }, { id: "small" })),
    reply(text("Done.")),
    reply(toolCall("refund", { order: "8", euros: 900 }, { id: "large" })),
    reply(text("Paid."))
  );
  const host = createTestHost({ agents: { Tested }, env: { BANK } });
  const agent = await host.get(Tested, "a");
  await agent.runTurn({ input: "Refund order 7" });
  expect(paid).toEqual(["7 9 refund:7"]);
  await agent.runTurn({ input: "Refund order 8" });
  const decide = (by: string) =>
    host.fetch("/agents/tested/a/approvals/large", {
      method: "POST",
      headers: { "content-type": "application/json", "x-everthink-user": encodeURIComponent(by) },
      body: JSON.stringify({ decision: "approve" })
    });
  const refused = await decide("eve@acme.example");
  expect([refused.status, await refused.text()]).toEqual([409, expect.stringContaining("Only the finance team")]);
  expect(paid).toHaveLength(1);
  expect((await decide("ann@finance.example")).status).toBe(200);
  await host.idle();
  await host.advance(1_000);
  expect(paid).toEqual(["7 9 refund:7", "8 900 refund:8"]);
  expect(JSON.stringify(await agent.getMessages())).toContain("Paid.");
});

test("the editor has two topics researched by agents of their own, and writes from what they found", async () => {
  class TestedResearcher extends Researcher {
    override getModel = () => scriptedModel((call) => reply(text(`Facts about ${call.lastUserText}`)));
  }
  Object.defineProperty(TestedResearcher, "name", { value: "Researcher" });
  class Tested extends Editor {
    override getModel = model;
  }
  next(
    reply(toolCall("research", { topic: "tides" }, { id: "1" }), toolCall("research", { topic: "winds" }, { id: "2" })),
    reply(text("The article."))
  );
  const host = createTestHost({ agents: { Tested }, exports: [TestedResearcher] });
  const editor = await host.get(Tested, "a");
  expect(await editor.runTurn({ input: "Write about the sea" })).toMatchObject({ status: "completed" });
  const messages: UIMessage[] = await editor.getMessages();
  const said = JSON.stringify(messages);
  for (const words of ["tides", "winds", "Facts about", "The article."]) expect(said).toContain(words);
});

test("a file that is uploaded is read by the agent, and other people's folders are closed", async () => {
  class Tested extends Analyst {
    override getModel = model;
  }
  next(reply(toolCall("read", { path: "/uploads/sales.csv" })), reply(text("Three lines.")));
  const host = createTestHost({ agents: { Tested } });
  const as = (name: string) => (path: string, init: RequestInit) =>
    host.fetch(path, { ...init, headers: { "x-everthink-user": name, "content-type": "text/csv" } });
  vi.stubGlobal("fetch", as("ada"));
  const file = new File(["1\n2\n3\n"], "sales.csv");
  expect(await upload("/agents/tested/ada", file)).toBe("/uploads/sales.csv");
  await expect(upload("/agents/tested/bob", file)).rejects.toThrow("403");
  vi.unstubAllGlobals();
  const analyst = await host.get(Tested, "ada");
  await analyst.runTurn({ input: "How many lines?" });
  expect(JSON.stringify(await analyst.getMessages())).toMatch(/1\\t1|1: 1|sales\.csv/);
  const denied = await as("ada")("/agents/tested/ada/workspace/results/x", { method: "PUT", body: "x" });
  expect(denied.status).toBe(403);
});

test("an event is a line of the log, and an alarming one a line of the error log", async () => {
  const info = vi.spyOn(console, "log").mockImplementation(() => {});
  const error = vi.spyOn(console, "error").mockImplementation(() => {});
  class Tested extends Observed {
    override getModel = model;
  }
  next(reply(text("Hello.")));
  const { stop } = await import("./examples/guides/log-turns.ts");
  const host = createTestHost({ agents: { Tested } });
  const agent = await host.get(Tested, "a");
  await agent.saveMessages([user("u1")]);
  expect(info).toHaveBeenCalledWith("Tested", "a", "completed", expect.any(Number));
  stop();
  await agent.saveMessages([user("u2")]);
  const lines = (spy: typeof info) =>
    spy.mock.calls.map(([line]) => String(line)).filter((line) => line.startsWith("{"));
  expect(lines(info).join("\n")).toContain('"type":"chat:turn:finish"');
  expect(lines(error).map((line) => (JSON.parse(line) as { type: string }).type)).toContain("chat:request:failed");
  vi.restoreAllMocks();
});

test("the login of the guide about tenants is one that an entry takes", () => {
  expect(
    createThinkWorkerEntry({ manifest: { agents: [] }, authorize: tenantAuth, app: { default: tenantServer } })
  ).toBeDefined();
  expect(readdirSync(new URL("examples/guides/", import.meta.url)).length).toBeGreaterThan(5);
});
