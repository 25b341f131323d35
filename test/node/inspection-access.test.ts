// Who may look inside an agent: without the right, 403 for every address of the API, known or not, also below a sub-agent.
import { readFileSync } from "node:fs";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { inspectionResponse, type InspectionSource } from "../../src/features/inspection/inspect-http.ts";
import type { TurnsView, TurnTimeline } from "../../src/features/inspection/views.ts";
import { reply, text, toolCall } from "../../src/testing/index.ts";
import { ask, echo, KEY, look, open, request, Subject } from "./inspection-kit.ts";

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => {});
  vi.spyOn(console, "warn").mockImplementation(() => {});
  return () => void vi.restoreAllMocks();
});

/** Where each view is asked for, as the documentation writes it. A view without an address here does not compile. */
const ADDRESSES: Readonly<Record<keyof InspectionSource, string>> = {
  agent: "GET agent",
  conversations: "GET conversations",
  turns: "GET turns?before=&limit=",
  turn: "GET turns/<id>",
  why: "GET turns/<id>/why",
  call: "GET turns/<id>/calls/<call>?part=output&from=",
  inbox: "GET inbox",
  waitingInput: "GET inbox/<id>?from=",
  state: "GET state",
  file: "GET file?path=",
  costs: "GET costs",
  table: "GET table?name=&from=&limit=",
  chat: "GET chat",
  tools: "GET tools",
  ask: "POST ask",
  withdraw: "POST withdraw",
  stop: "POST stop",
  run: "POST run",
  decide: "POST decide",
  tryTurn: "POST try"
};

const BODY = { id: "x", decision: "approve", turnId: "x", text: "x", tool: "x" };

/** The method, the path with an id in each of its places, and what is sent. */
function concrete(address: string): { method: string; path: string; body: object | undefined } {
  const [method = "", template = ""] = address.split(" ");
  const path = template.replaceAll(/<\w+>/g, "x");
  return { method, path, body: method === "POST" ? BODY : undefined };
}

const EVERY_ADDRESS = [...Object.values(ADDRESSES), "GET no-such-view", "GET ", "POST no-such-view", "POST turns/<id>"];

test.each(EVERY_ADDRESS)("a request without the key gets 403 for %s", async (address) => {
  const host = open([echo]);
  const { path, body } = concrete(address);
  for (const token of [null, "another-key-of-the-same-size", KEY.slice(0, -1)]) {
    expect((await request(host, path, token, body)).status).toBe(403);
  }
});

test("below a sub-agent a request without the key gets 403 for every address as well", async () => {
  const host = open([reply(toolCall("research", { input: "tides" })), reply(text("high"))], {
    child: [reply(text("tide"))]
  });
  await ask(host, "tides?");
  const { turns } = await look<TurnsView>(host, "turns");
  const { childRuns } = await look<TurnTimeline>(host, `turns/${turns[0]?.turnId}`);
  const statuses = new Map<string, number>();
  for (const address of EVERY_ADDRESS) {
    const { method, path, body } = concrete(address);
    const init = { method, ...(body && { body: JSON.stringify(body) }) };
    const answer = await host.fetch(`/agents/subject/a/${childRuns[0]?.path}/inspect/v1/${path}`, init);
    statuses.set(address, answer.status);
  }
  expect(childRuns).toHaveLength(1);
  expect(statuses).toEqual(new Map(EVERY_ADDRESS.map((address) => [address, 403])));
});

test.each(Object.entries(ADDRESSES))("the view %s is what %s asks for", async (view, address) => {
  const asked: string[] = [];
  const source = new Proxy({} as InspectionSource, { get: (_target, name) => () => void asked.push(String(name)) });
  const { method, path, body } = concrete(address);
  const headers = { "Content-Type": "application/json" };
  const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
  await inspectionResponse(new Request(`http://localhost/${path}`, init), path.split("?")[0] ?? "", source);
  expect(asked).toEqual([view]);
});

test("the documentation lists every address, and no other", () => {
  const page = readFileSync(new URL("../../docs/inspection.md", import.meta.url), "utf8");
  const documented = [...page.matchAll(/^\| `((?:GET|POST) [^`]+)` \|/gm)].map(([, address]) => address);
  expect(documented.toSorted()).toEqual(Object.values(ADDRESSES).toSorted());
});

describe("who may look", () => {
  test("without the variable, or with a short one, no key opens it", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    for (const key of ["", "short"]) expect((await request(open([echo], { key }), "agent", key)).status).toBe(403);
    expect(warn.mock.calls).toEqual([[expect.stringContaining("has fewer than 16 characters and opens nothing")]]);
  });

  test("the class decides, and is given what is asked for; anything but true refuses", async () => {
    const asked: string[] = [];
    const answers: unknown[] = [false, "yes", undefined, true];
    vi.spyOn(Subject.prototype, "authorizeInspection").mockImplementation((_request, access) => {
      asked.push(access);
      return answers.shift() as boolean;
    });
    const host = open([echo]);
    const statuses = [];
    for (const view of ["agent", "state"]) statuses.push((await request(host, view, null)).status);
    statuses.push((await request(host, "try", null, {})).status, (await request(host, "agent", null)).status);
    expect(statuses).toEqual([403, 403, 403, 200]);
    expect(asked).toEqual(["read", "read", "try", "read"]);
  });

  test("an address of the class's own below /inspect stays its own", async () => {
    const response = await open([echo]).fetch("/agents/subject/a/inspect/mine");
    expect(response.status).toBe(404);
  });
});
