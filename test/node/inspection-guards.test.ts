// What keeps an inspector, and a request that wants to be one, within bounds: the key, the input that was seen, the time and
// the client of a trial, the size of a page, and secrets in addresses.
import { beforeEach, describe, expect, test, vi } from "vitest";
import { inspectionResponse, type InspectionSource } from "../../src/features/inspection/inspect-http.ts";
import type { InboxView, StateView, TryView, TurnsView } from "../../src/features/inspection/views.ts";
import { reply, stall, text, toolCall } from "../../src/testing/index.ts";
import type { ScriptPart } from "../../src/testing/model/script-part.ts";
import { ask, echo, KEY, look, open, request, scene, Subject, type Host } from "./inspection-kit.ts";

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
  return () => void vi.restoreAllMocks();
});

test.each(["abcdefgh", "a", "abcdefghabcdefghabcdefgh", "abcdefghabcdefg"])(
  "a key that repeats itself is not opened by %j",
  async (given) => {
    const host = open([echo], { key: "abcdefghabcdefgh" });
    expect((await request(host, "agent", given)).status).toBe(403);
    expect((await request(host, "agent", "abcdefghabcdefgh")).status).toBe(200);
  }
);

describe("a decision of an inspector", () => {
  test("about another input than the one that waits does nothing", async () => {
    const host = open([reply(toolCall("pay", { euros: 5 })), reply(text("It waits.")), reply(text("Paid."))]);
    await ask(host, "pay");
    const [waiting] = (await look<InboxView>(host, "inbox")).approvals;
    const decide = (inputHash: string | null | undefined) =>
      request(host, "decide", KEY, { id: waiting?.id, decision: "approve", inputHash });
    const refused = await decide("0".repeat(64));
    expect([refused.status, await refused.text()]).toEqual([409, expect.stringContaining("another input")]);
    await host.idle();
    expect(scene.effects).toEqual([]);
    expect((await decide(waiting?.inputHash)).status).toBe(200);
    await host.idle();
    expect(scene.effects).toEqual(["pay 5"]);
  });
});

describe("a trial", () => {
  async function turnOf(host: Host): Promise<string> {
    await ask(host, "hello");
    const { turns } = await look<TurnsView>(host, "turns");
    return turns[0]?.turnId ?? "";
  }

  test("ends when its client leaves: the model is called no further", async () => {
    const reached = Promise.withResolvers<AbortSignal>();
    const left = Promise.withResolvers<void>();
    const waiting: ScriptPart = {
      kind: "wait",
      until: ({ signal }) => {
        if (signal) reached.resolve(signal);
        return left.promise;
      }
    };
    const host = open([reply(text("hello")), reply(text("a"), waiting, text("b"))]);
    const turnId = await turnOf(host);
    const client = new AbortController();
    const tried = host
      .fetch("/agents/subject/a/inspect/v1/try", {
        method: "POST",
        headers: { Authorization: `Bearer ${KEY}`, "Content-Type": "application/json" },
        body: JSON.stringify({ turnId }),
        signal: client.signal
      })
      .catch((error: unknown) => error);
    const signal = await reached.promise;
    expect(signal.aborted).toBe(false);
    client.abort();
    expect(signal.aborted).toBe(true);
    left.resolve();
    await tried;
  });

  test("ends after two minutes, and says so", async () => {
    const host = open([reply(text("hello")), reply(text("a"), stall())]);
    const turnId = await turnOf(host);
    let response: Response | undefined;
    void request(host, "try", KEY, { turnId }).then((answer) => (response = answer));
    await host.advance(119_000);
    expect(response).toBeUndefined();
    await host.advance(2_000);
    const tried = (await response?.json()) as TryView | undefined;
    expect(tried?.changed).toMatchObject({
      text: { text: "a" },
      error: "Stopped after 120 seconds.",
      durationMs: 120_000
    });
  });

  test("that ended in time leaves no timer behind", async () => {
    const host = open([reply(text("hello")), reply(text("again"))]);
    const turnId = await turnOf(host);
    const { changed } = (await (await request(host, "try", KEY, { turnId })).json()) as TryView;
    expect(changed).toMatchObject({ status: "completed", error: null, durationMs: 0 });
  });
});

test.each([
  ["limit=1000000", 100],
  ["limit=101", 100],
  ["limit=100", 100],
  ["limit=1", 1],
  ["limit=0", 1],
  ["limit=-1", 50],
  ["limit=1e400", 50],
  ["limit=x", 50],
  ["", 50]
])("a page that is asked for with %j has %i turns at most", async (query, limit) => {
  const asked: number[] = [];
  const source = { turns: (page: { limit: number }) => (asked.push(page.limit), { turns: [] }) };
  await inspectionResponse(
    new Request(`http://localhost/turns?${query}`),
    "turns",
    source as object as InspectionSource
  );
  expect(asked).toEqual([limit]);
});

test("the address of an MCP server is shown without its tokens", async () => {
  const host = open([echo]);
  const agent = await host.get(Subject, "a");
  const address = "https://docs.example.com/mcp?team=blue&api_key=k-123&accessToken=t-456#x";
  await agent.addMcpServer("docs", address, { id: "docs" }).catch(() => undefined);
  const state = await look<StateView>(host, "state");
  expect(state.mcpServers).toMatchObject([
    { name: "docs", address: expect.stringContaining("docs.example.com/mcp?team=blue") }
  ]);
  expect(JSON.stringify(state)).not.toMatch(/k-123|t-456/);
});
