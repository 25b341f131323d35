// Submissions over HTTP: only where the class says who may, once per key, with an address to ask at.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Think } from "../../src/index.ts";
import { MAX_WAITING } from "../../src/features/submissions/submissions.ts";
import {
  createScript,
  createTestHost,
  reply,
  scriptedModel,
  stall,
  text,
  type Script
} from "../../src/testing/index.ts";

let script: Script;
let signatures: string[];

class Closed extends Think {
  override getModel() {
    return scriptedModel(script);
  }
  override onRequest() {
    return new Response("the class's own", { status: 418 });
  }
}

class Hooked extends Closed {
  override async authorizeSubmission(request: Request) {
    // A signature over the body can be checked: the request is a copy.
    signatures.push(await request.text());
    return request.headers.get("Authorization") === "Bearer right";
  }
  async spawn() {
    await this.subAgent(Hooked, "child");
  }
}

beforeEach(() => {
  script = createScript(() => reply(text("ok")));
  signatures = [];
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});
afterEach(() => void vi.restoreAllMocks());

const open = () => createTestHost({ agents: { Hooked, Closed } });
const URL_PATH = "/agents/hooked/a/submit";

/** As a client resolves a relative address. */
const below = (path: string, relative: string) => new URL(relative, `http://localhost${path}`).pathname;

function post(body: unknown, headers: Record<string, string> = {}): RequestInit {
  return {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: "Bearer right", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body)
  };
}

test("a webhook is accepted with 202 and an address, which says how it stands", async () => {
  const host = open();
  const response = await host.fetch(URL_PATH, post({ input: "Hello", metadata: { from: "shop" } }));
  expect(response.status).toBe(202);
  const accepted = (await response.json()) as { submissionId: string; statusUrl: string };
  expect(accepted).toMatchObject({ status: "pending", metadata: { from: "shop" } });
  expect(response.headers.get("Location")).toBe(accepted.statusUrl);
  await host.idle();
  const asked = await host.fetch(below(URL_PATH, accepted.statusUrl), { headers: { Authorization: "Bearer right" } });
  expect([asked.status, await asked.json()]).toMatchObject([
    200,
    { submissionId: accepted.submissionId, status: "completed" }
  ]);
  expect(signatures[0]).toContain("Hello");
});

test("the same key is 200 with the same submission, and 409 with another body", async () => {
  const host = open();
  const key = { "Idempotency-Key": '"evt-1"' };
  const ids: unknown[] = [];
  for (let count = 0; count < 2; count += 1) {
    const response = await host.fetch(URL_PATH, post({ input: "Hello" }, key));
    ids.push([response.status, ((await response.json()) as { submissionId: string }).submissionId]);
  }
  expect(ids).toEqual([
    [202, expect.any(String)],
    [200, (ids[0] as unknown[])[1]]
  ]);
  const other = await host.fetch(URL_PATH, post({ input: "Other" }, key));
  expect(other.status).toBe(409);
  // It may be another sender: where the first one's submission is, and what it is, stays with the first.
  const [, id] = ids[0] as [number, string];
  const shown = JSON.stringify([await other.json(), [...other.headers]]);
  expect(shown).not.toContain(id);
  expect(shown).not.toMatch(/statusUrl|submit\/|Hello|location/i);
  await host.idle();
  expect(script.callCount).toBe(1);
});

test.each<[string, RequestInit, number]>([
  ["another caller", post({ input: "x" }, { Authorization: "Bearer wrong" }), 403],
  ["another method", { method: "PUT" }, 405],
  ["a form", post("input=x", { "Content-Type": "application/x-www-form-urlencoded" }), 415],
  ["no JSON", post("{"), 400],
  ["no input", post({}), 400],
  ["an empty text", post({ input: "" }), 400],
  ["a message without parts", post({ input: [{ id: "a", role: "user" }] }), 400],
  ["metadata that is no object", post({ input: "x", metadata: [1] }), 400],
  ["a key that is too long", post({ input: "x" }, { "Idempotency-Key": "k".repeat(2_000) }), 400],
  ["too much", post({ input: "x".repeat(5 * 1024 * 1024) }), 413]
])("%s is refused, and nothing is stored", async (_what, init, status) => {
  const host = open();
  const response = await host.fetch(URL_PATH, init);
  expect(response.status).toBe(status);
  expect(await response.json()).toMatchObject({ error: expect.any(String) });
  expect(await (await host.get(Hooked, "a")).listSubmissions()).toEqual([]);
});

test("a class that does not say who may has no such address", async () => {
  const host = open();
  const response = await host.fetch("/agents/closed/a/submit", post({ input: "x" }));
  expect([response.status, await response.text()]).toEqual([418, "the class's own"]);
});

test("an unknown id is 404, and a caller that may not submit may not ask either", async () => {
  const host = open();
  const headers = { Authorization: "Bearer right" };
  expect((await host.fetch(`${URL_PATH}/none`, { headers })).status).toBe(404);
  expect((await host.fetch(`${URL_PATH}/%`, { headers })).status).toBe(404);
  expect((await host.fetch(`${URL_PATH}/none`)).status).toBe(403);
});

test("metadata from outside cannot configure the turn", async () => {
  const host = open();
  const metadata = { __thinkWorkflowPrompt: { output: { schema: { type: "object" } } }, mine: 1 };
  const response = await host.fetch(URL_PATH, post({ input: "x", metadata }));
  expect(await response.json()).toMatchObject({ metadata: { mine: 1 } });
  const [submission] = await (await host.get(Hooked, "a")).listSubmissions();
  expect(submission?.metadata).toEqual({ mine: 1 });
});

test("a sub-agent has its own address", async () => {
  const host = open();
  await (await host.get(Hooked, "a")).spawn();
  const address = "/agents/hooked/a/sub/hooked/child/submit";
  const response = await host.fetch(address, post({ input: "x" }));
  expect(response.status).toBe(202);
  const { statusUrl } = (await response.json()) as { statusUrl: string };
  await host.idle();
  const asked = await host.fetch(below(address, statusUrl), { headers: { Authorization: "Bearer right" } });
  expect(await asked.json()).toMatchObject({ status: "completed" });
});

test("a full queue answers 503 and when to try again; a repetition still gets its first answer", async () => {
  const host = open();
  const key = (name: string) => ({ "Idempotency-Key": name });
  expect((await host.fetch(URL_PATH, post({ input: "First" }, key("first")))).status).toBe(202);
  await host.idle();
  script = createScript(() => reply(stall()));
  await host.fetch(URL_PATH, post({ input: "Running" }, key("running")));
  host.sql(
    Hooked,
    "a",
    `INSERT INTO cf_submissions (created_at, id, fingerprint, request)
     WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${MAX_WAITING - 1})
     SELECT ${host.now}, 'filled' || i, '-', '{"messages":[]}' FROM n`
  );
  await host.restart();
  const refused = await host.fetch(URL_PATH, post({ input: "One too many" }, key("last")));
  expect(refused.status).toBe(503);
  expect(refused.headers.get("Retry-After")).toBe("30");
  expect(await refused.json()).toEqual({ error: expect.any(String), code: "submission-queue-full" });
  expect((await host.fetch(URL_PATH, post({ input: "First" }, key("first")))).status).toBe(200);
  const waiting = "SELECT COUNT(*) AS n FROM cf_submissions WHERE settled_at IS NULL";
  expect(host.sql(Hooked, "a", waiting)).toEqual([{ n: MAX_WAITING }]);
});
