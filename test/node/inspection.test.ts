// Looking inside an agent over HTTP: what each view shows, and that looking changes nothing.
import { beforeEach, describe, expect, test, vi } from "vitest";
import type {
  AgentView,
  CallTimeline,
  ConversationsView,
  FileView,
  InboxView,
  ShownText,
  StateView,
  TryView,
  TurnsView,
  TurnTimeline,
  TurnWhy
} from "../../src/features/inspection/views.ts";
import { createScript, reply, stall, text, toolCall, usage } from "../../src/testing/index.ts";
import { ask, echo, KEY, look, open, request, scene, Subject, type Host } from "./inspection-kit.ts";
import { user } from "../kit/messages.ts";

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => {});
  vi.spyOn(console, "warn").mockImplementation(() => {});
  return () => void vi.restoreAllMocks();
});

async function newest(host: Host): Promise<TurnTimeline> {
  const { turns } = await look<TurnsView>(host, "turns");
  return look<TurnTimeline>(host, `turns/${turns[0]?.turnId}`);
}

function callsIn({ attempts }: TurnTimeline): CallTimeline[] {
  return attempts.flatMap(({ steps }) => steps.flatMap((step) => step.calls));
}

describe("turns", () => {
  test("a turn shows its queue, attempts, steps, tokens and calls with input and output", async () => {
    const host = open([
      reply(toolCall("look", { at: "sea" }), usage({ input: 10, output: 2 })),
      reply(text("blue"), usage({ input: 14, output: 3 }))
    ]);
    await ask(host, "how is the sea?");
    const { turns } = await look<TurnsView>(host, "turns");
    expect(turns).toMatchObject([
      { status: "completed", attempts: 1, deaths: 0, steps: 2, calls: 1, question: "how is the sea?", answer: "blue" }
    ]);
    const turn = await newest(host);
    expect(turn).toMatchObject({ source: "records", queueMs: 0, usage: { inputTokens: 24, outputTokens: 5 } });
    expect(turn.attempts[0]?.steps).toMatchObject([
      {
        calls: [
          { toolName: "look", status: "output", input: { text: `{\n  "at": "sea"\n}` }, output: { text: "seen sea" } }
        ]
      },
      { calls: [], finishReason: "stop" }
    ]);
    expect(turn.written?.rows).toBeGreaterThan(1);
    expect(turn.messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
  });

  test("what turns and steps cost is shown where the class gives the model's price, and only there", async () => {
    const steps = [
      reply(toolCall("look", { at: "sea" }), usage({ input: 1000, output: 100 })),
      reply(text("blue"), usage({ input: 2000, output: 200 }))
    ];
    const host = open([...steps, ...steps]);
    await ask(host, "sea?");
    expect([(await newest(host)).cost, (await look<TurnsView>(host, "turns")).turns[0]?.cost]).toEqual([null, null]);
    const modelId = (await newest(host)).attempts[0]?.modelId ?? "";
    const prices = [{ provider: "scripted", model: modelId, input: 2, output: 10 }];
    vi.spyOn(Subject.prototype, "getPrices").mockReturnValue(prices);
    const turn = await newest(host);
    expect(turn.attempts[0]?.steps.map(({ cost }) => cost?.amount.toFixed(4))).toEqual(["0.0030", "0.0060"]);
    expect(turn.cost).toMatchObject({ currency: "USD", amount: expect.closeTo(0.009, 9) });
    expect((await look<TurnsView>(host, "turns")).turns[0]?.cost?.amount).toBeCloseTo(0.009, 9);
    const tried: TryView = await (await request(host, "try", KEY, { turnId: turn.turnId })).json();
    expect([tried.original.cost?.amount, tried.changed.cost?.amount]).toEqual([
      expect.closeTo(0.009, 9),
      expect.closeTo(0.009, 9)
    ]);
  });

  test("a turn that was killed twice shows both deaths and what recovery decided", async () => {
    const host = open([reply(text("one "), stall()), reply(text("two "), stall()), reply(text("three"))]);
    const agent = await host.get(Subject, "a");
    agent.saveMessages([user("u", "count")]).catch(() => undefined);
    for (let death = 0; death < 2; death += 1) {
      await host.idle();
      await host.advance(1000);
      await host.restart();
      await host.advance(60_000);
    }
    const turn = await newest(host);
    expect(turn.status).toBe("completed");
    expect(turn.attempts.map(({ end }) => end)).toEqual(["interrupted", "interrupted", "settled"]);
    expect(turn.attempts[2]?.decision).toMatch(/^The process died: /);
    const why = await look<TurnWhy>(host, `turns/${turn.turnId}/why`);
    expect(why.recovery.map(({ attempt }) => attempt)).toEqual([2, 3]);
  });

  test("when its records are gone, what history and message keep is shown", async () => {
    const host = open([reply(toolCall("look", { at: "sea" })), reply(text("blue"))]);
    await ask(host, "sea?");
    await host.advance(30 * 60_000);
    const turn = await newest(host);
    expect(turn).toMatchObject({ source: "history", written: null, status: "completed" });
    expect(turn.attempts[0]?.steps[0]?.calls).toMatchObject([
      { toolName: "look", output: { text: "seen sea" }, startedAt: null }
    ]);
  });

  test("pages go back to the first turn, each turn once", async () => {
    const host = open(Array(7).fill(echo));
    for (let turn = 0; turn < 7; turn += 1) await ask(host, `q${turn}`);
    const seen: (string | null)[] = [];
    let before: number | undefined;
    do {
      const page: TurnsView = await look(host, `turns?limit=3${before === undefined ? "" : `&before=${before}`}`);
      seen.push(...page.turns.map(({ question }) => question));
      before = page.next;
    } while (before !== undefined);
    expect(seen).toEqual(["q6", "q5", "q4", "q3", "q2", "q1", "q0"]);
  });

  test("a running turn and one that waits are listed first", async () => {
    const host = open([reply(stall()), echo]);
    const agent = await host.get(Subject, "a");
    for (const words of ["one", "two"]) {
      agent.saveMessages([user(words)]).catch(() => undefined);
    }
    await host.idle();
    const { turns } = await look<TurnsView>(host, "turns");
    expect(turns.map(({ status, question }) => [status, question])).toEqual([
      ["queued", "two"],
      ["running", "one"]
    ]);
  });

  test("a long output is cut, and its rest can be read in pages", async () => {
    const host = open([reply(toolCall("look", { at: "<script>".repeat(10_000) })), reply(text("ok"))]);
    await ask(host, "long");
    const turn = await newest(host);
    const call = turn.attempts[0]?.steps[0]?.calls[0];
    expect(call?.output).toMatchObject({ isCut: true, chars: 80_005 });
    const rest = await look<ShownText>(host, `turns/${turn.turnId}/calls/${call?.callId}?part=output&from=80000`);
    expect(rest).toEqual({ text: "ript>", chars: 80_005, isCut: false });
  });

  test("a child's run is listed with the address at which its own turns are", async () => {
    const host = open([reply(toolCall("research", { input: "tides" })), reply(text("high"))], {
      child: [reply(text("tide"))]
    });
    await ask(host, "tides?");
    const [run] = (await newest(host)).childRuns;
    expect(run).toMatchObject({ agentType: "Reader", status: "completed" });
    const response = await host.fetch(`/agents/subject/a/${run?.path}/inspect/v1/turns`, {
      headers: { Authorization: `Bearer ${KEY}` }
    });
    expect(((await response.json()) as TurnsView).turns).toMatchObject([{ status: "completed", answer: "tide" }]);
  });

  test("a compaction stands among the changes", async () => {
    const host = open([echo]);
    const agent = await host.get(Subject, "a");
    await agent.fill(8);
    await agent.compact();
    expect((await look<TurnsView>(host, "turns")).changes.map(({ kind }) => kind)).toContain("compacted");
  });

  test("unknown turns and views are 404", async () => {
    const host = open([echo]);
    for (const view of ["turns/none", "turns/none/why", "none", "turns/a/b/c/d", "file?path=/none"]) {
      expect((await request(host, view)).status).toBe(404);
    }
  });
});

describe("why", () => {
  test("the prompt is shown by sections with sizes, and it is said whether the turn had the same", async () => {
    const host = open([echo, echo]);
    await ask(host, "hello");
    const turn = await newest(host);
    const why = await look<TurnWhy>(host, `turns/${turn.turnId}/why`);
    expect(why.prompt.match).toBe("same");
    expect(why.prompt.sections.map(({ name, text: { text: shown } }) => [name, shown.slice(0, 9)])).toContainEqual([
      "base",
      "Be brief."
    ]);
    expect(why.prompt.sections.every(({ purpose, tokens }) => purpose !== "" && tokens > 0)).toBe(true);
    const tools = Object.fromEntries(why.tools.map(({ name, layer, wasOffered }) => [name, [layer, wasOffered]]));
    expect(tools).toMatchObject({ look: ["tools", true], pay: ["actions", true], read: ["workspace", true] });
    vi.spyOn(Subject.prototype, "getTools").mockReturnValue({} as never);
    expect((await look<TurnWhy>(host, `turns/${turn.turnId}/why`)).prompt.match).toBe("changed");
  });

  test("the history window says what was compacted and what was cut", async () => {
    const host = open([reply(toolCall("look", { at: "x".repeat(3000) })), ...Array(15).fill(echo)]);
    for (let turn = 0; turn < 9; turn += 1) await ask(host, `q${turn}`);
    const before = await look<TurnWhy>(host, `turns/${(await newest(host)).turnId}/why`);
    const cut = before.history.entries.filter(({ shown }) => shown === "truncated");
    expect(cut).toHaveLength(1);
    expect(cut[0]?.cutCalls).toHaveLength(1);
    expect(cut[0]?.chars).toBeLessThan(cut[0]?.wholeChars ?? 0);
    await (await host.get(Subject, "a")).compact();
    await ask(host, "after");
    const after = await look<TurnWhy>(host, `turns/${(await newest(host)).turnId}/why`);
    expect(after.history.compactions).toMatchObject([{ summary: { text: "SUMMARY" } }]);
    expect(after.history.entries.map(({ shown }) => shown)).toContain("summary");
    expect(after.history.storedMessages).toBeGreaterThan(after.history.shownMessages);
  });
});

describe("inbox", () => {
  async function parked(): Promise<Host> {
    const host = open([reply(toolCall("pay", { euros: 5 })), reply(text("wait")), reply(text("paid"))]);
    await ask(host, "pay");
    return host;
  }

  test("an action that waits is asked about in words, approved once, and the turn says by whom", async () => {
    const host = await parked();
    const { approvals } = await look<InboxView>(host, "inbox");
    expect(approvals).toMatchObject([{ kind: "action", name: "pay", question: "Pay this sum?", isDecidable: true }]);
    expect((await look<AgentView>(host, "agent")).waitingApprovals).toBe(1);
    const [waiting] = callsIn(await newest(host));
    expect(waiting).toMatchObject({ status: "waiting", approval: { approved: null, by: null } });
    expect(waiting?.approval?.askedAt).toBe(waiting?.settledAt);
    const decision = { id: approvals[0]?.id, decision: "approve", by: "Ada", inputHash: approvals[0]?.inputHash };
    expect((await request(host, "decide", KEY, decision)).status).toBe(200);
    expect((await request(host, "decide", KEY, decision)).status).toBe(409);
    await host.idle();
    expect(scene.effects).toEqual(["pay 5"]);
    expect((await look<InboxView>(host, "inbox")).approvals).toEqual([]);
    const turns = (await look<TurnsView>(host, "turns")).turns;
    const asked = await look<TurnTimeline>(host, `turns/${turns.at(-1)?.turnId}`);
    const { askedAt } = waiting?.approval ?? {};
    expect(callsIn(asked)).toMatchObject([
      { toolName: "pay", approval: { by: "unverified:Ada", approved: true, askedAt } }
    ]);
  });

  test("a call that its turn asks about is decided the same way, and the conversation goes on", async () => {
    const host = open([reply(toolCall("ship", { to: "Rome" })), reply(text("shipped"))]);
    await ask(host, "ship");
    const { approvals } = await look<InboxView>(host, "inbox");
    expect(approvals).toMatchObject([{ kind: "tool", name: "ship", question: "Ship it?", risk: "high" }]);
    expect((await request(host, "decide", KEY, { id: approvals[0]?.id, decision: "approve" })).status).toBe(200);
    // A continuation waits a moment for further answers.
    await host.advance(1000);
    expect(scene.effects).toEqual(["ship Rome"]);
    const { turns } = await look<TurnsView>(host, "turns");
    expect(turns[0]).toMatchObject({ status: "completed", answer: "shipped" });
  });

  test("a rejected action never runs", async () => {
    const host = await parked();
    const { approvals } = await look<InboxView>(host, "inbox");
    expect((await request(host, "decide", KEY, { id: approvals[0]?.id, decision: "reject" })).status).toBe(200);
    await host.idle();
    expect(scene.effects).toEqual([]);
  });

  test("a decision that is none is refused", async () => {
    const host = await parked();
    expect((await request(host, "decide", KEY, { id: 5 })).status).toBe(400);
    expect((await request(host, "decide", KEY, { id: "none", decision: "approve" })).status).toBe(409);
    const form = { method: "POST", body: "id=x", headers: { Authorization: `Bearer ${KEY}` } };
    expect((await host.fetch("/agents/subject/a/inspect/v1/decide", form)).status).toBe(415);
  });
});

test("the state view has memory, files, schedules, settings without secrets, and the size on disk", async () => {
  const host = open([echo]);
  await (await host.get(Subject, "a")).prepare();
  const state = await look<StateView>(host, "state");
  expect(state.memory).toMatchObject([{ label: "memory", maxTokens: 200 }]);
  expect(state.files.files).toMatchObject([{ path: "/notes.md", sizeBytes: 6 }]);
  expect(state.schedules).toMatchObject([{ kind: "schedule", what: "wake", nextRunAt: host.now + 3_600_000 }]);
  expect(state.config?.text).toContain("eu");
  expect(JSON.stringify(state)).not.toContain("very-secret-value");
  expect(state.disk.bytes).toBeGreaterThan(10_000);
  expect(state.disk.tables.map(({ name }) => name)).toContain("cf_work");
  const file = await look<FileView>(host, "file?path=%2Fnotes.md");
  expect(file).toMatchObject({ content: { text: "second" }, isBinary: false, history: [{ change: "update" }] });
  expect((await look<ConversationsView>(host, "conversations")).conversations).toMatchObject([{ isActive: true }]);
});

describe("try again with changes", () => {
  test("the fork answers beside the original, with recorded and changed results, and runs no tool", async () => {
    const steps = [reply(toolCall("look", { at: "sea" })), reply(text("blue"))];
    const host = open([...steps, ...steps, ...steps]);
    await ask(host, "sea?");
    const turn = await newest(host);
    const callId = turn.attempts[0]?.steps[0]?.calls[0]?.callId ?? "";
    const before = await everything(host);
    const same: TryView = await (await request(host, "try", KEY, { turnId: turn.turnId })).json();
    expect(same.original).toMatchObject({ status: "completed", text: { text: "blue" }, calls: [{ source: "ran" }] });
    expect(same.changed).toMatchObject({
      status: "completed",
      text: { text: "blue" },
      calls: [{ source: "recorded", output: { text: "seen sea" } }]
    });
    const changes = {
      turnId: turn.turnId,
      system: "Be rude.",
      question: "lake?",
      toolResults: { [callId]: "seen fog" }
    };
    const changed: TryView = await (await request(host, "try", KEY, changes)).json();
    expect(changed.changed.calls).toMatchObject([{ source: "changed", output: { text: "seen fog" } }]);
    expect(JSON.stringify(scene.script.calls.at(-1)?.prompt)).toContain("Be rude.");
    expect(JSON.stringify(scene.script.calls.at(-1)?.prompt)).toContain("lake?");
    expect(scene.effects).toEqual(["look sea"]);
    expect(await everything(host)).toEqual(before);
  });

  test("messages that are left out of the history are not given to the fork's model", async () => {
    const host = open([reply(text("one")), reply(text("two")), reply(text("three"))]);
    await ask(host, "a secret");
    await ask(host, "and now?");
    const { turnId } = await newest(host);
    const { history } = await look<TurnWhy>(host, `turns/${turnId}/why`);
    const without = history.entries.filter(({ preview }) => preview === "a secret").map(({ messageId }) => messageId);
    expect(without).toHaveLength(1);
    await request(host, "try", KEY, { turnId, without });
    const given = JSON.stringify(scene.script.calls.at(-1)?.prompt);
    expect([given.includes("a secret"), given.includes("one"), given.includes("and now?")]).toEqual([
      false,
      true,
      true
    ]);
  });

  test("a call that the original did not make ends the fork, and is not run", async () => {
    const host = open([reply(text("hello")), reply(toolCall("pay", { euros: 1000 })), reply(text("never"))]);
    await ask(host, "hello");
    const tried: TryView = await (await request(host, "try", KEY, { turnId: (await newest(host)).turnId })).json();
    expect(tried.changed).toMatchObject({ steps: 1, calls: [{ toolName: "pay", source: "not-run", output: null }] });
    expect(scene.effects).toEqual([]);
    expect((await look<InboxView>(host, "inbox")).approvals).toEqual([]);
  });

  test("another model is one that the class names; others are refused by name", async () => {
    const host = open([reply(text("hello"))]);
    await ask(host, "hello");
    scene.models = createScript([reply(text("bonjour"))]);
    const { turnId } = await newest(host);
    const tried: TryView = await (await request(host, "try", KEY, { turnId, model: "other" })).json();
    expect(tried.changed.text.text).toBe("bonjour");
    const refused = await request(host, "try", KEY, { turnId, model: "constructor" });
    expect([refused.status, await refused.json()]).toMatchObject([400, { code: "inspected-model-unknown" }]);
  });
});

describe("looking changes nothing", () => {
  test("every view of a fresh agent, of a busy one and of an old one writes no row", async () => {
    const host = open([
      reply(toolCall("look", { at: "sea" })),
      reply(toolCall("pay", { euros: 5 })),
      echo,
      reply(stall())
    ]);
    const agent = await host.get(Subject, "a");
    await agent.getMessages();
    await host.idle();
    await lookAtAll(host);
    await ask(host, "one");
    await agent.prepare();
    await lookAtAll(host);
    agent.saveMessages([user("u", "more")]).catch(() => undefined);
    await host.idle();
    await host.advance(5000);
    await lookAtAll(host);
  });

  test("explaining a prompt that no turn has used stores nothing", async () => {
    const host = open([echo]);
    const agent = await host.get(Subject, "a");
    await agent.getMessages();
    await host.idle();
    const before = host.counts.writes;
    expect((await agent.explainPrompt()).sections.length).toBeGreaterThan(1);
    await host.idle();
    expect(host.counts.writes).toBe(before);
  });

  async function lookAtAll(host: Host): Promise<void> {
    await host.idle();
    const before = { writes: host.counts.writes, tables: await everything(host), alarm: host.alarm(Subject, "a") };
    const { turns } = await look<TurnsView>(host, "turns");
    const ofTurns = turns.flatMap(({ turnId }) => [`turns/${turnId}`, `turns/${turnId}/why`]);
    const views = ["agent", "conversations", "turns", ...ofTurns, "inbox", "state", "file?path=%2Fnotes.md"];
    for (const view of views) expect([200, 404]).toContain((await request(host, view)).status);
    await host.idle();
    const after = { writes: host.counts.writes, tables: await everything(host), alarm: host.alarm(Subject, "a") };
    expect(after).toEqual(before);
  }
});

async function everything(host: Host): Promise<Record<string, unknown>> {
  const names = host.sql<{ name: string }>(
    Subject,
    "a",
    "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
  );
  return Object.fromEntries(names.map(({ name }) => [name, host.sql(Subject, "a", `SELECT * FROM "${name}"`)]));
}
