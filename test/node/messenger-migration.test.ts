// Messages, replies and followed turns of builds before the one runner: rows of three tables become items of durable work.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { action } from "../../src/index.ts";
import { reply, text, toolCall, type FakeSlack } from "../../src/testing/index.ts";
import { answered, bot, openBot, Support, type Host } from "./messenger-providers-kit.ts";

beforeEach(() => {
  for (const level of ["error", "warn"] as const) vi.spyOn(console, level).mockImplementation(() => undefined);
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

/** As schema version 7 made them. */
const OLD_TABLES = [
  `CREATE TABLE cf_messenger_events (
        id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, messenger TEXT NOT NULL, thread TEXT NOT NULL,
        event TEXT NOT NULL, reply_id TEXT, due_at INTEGER NOT NULL, at INTEGER NOT NULL)`,
  `CREATE INDEX cf_messenger_events_waiting ON cf_messenger_events (messenger, thread) WHERE reply_id IS NULL`,
  `CREATE TABLE cf_messenger_replies (
        id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, messenger TEXT NOT NULL, thread TEXT NOT NULL,
        job TEXT NOT NULL, lane TEXT NOT NULL, stage TEXT NOT NULL, posts TEXT NOT NULL, attempts INTEGER NOT NULL,
        due_at INTEGER, created_at INTEGER NOT NULL, ended_at INTEGER)`,
  `CREATE INDEX cf_messenger_replies_open ON cf_messenger_replies (due_at) WHERE due_at IS NOT NULL`,
  `CREATE TABLE cf_messenger_turns (
        turn_id TEXT PRIMARY KEY, request_id TEXT NOT NULL, origin TEXT NOT NULL, report TEXT, due_at INTEGER)`
];
const OLD_QUESTIONS = `CREATE TABLE cf_messenger_approvals (
        token TEXT PRIMARY KEY, question TEXT NOT NULL UNIQUE, messenger TEXT NOT NULL, thread TEXT NOT NULL,
        target TEXT NOT NULL, approval TEXT NOT NULL, is_open INTEGER NOT NULL, at INTEGER NOT NULL)`;

type Row = Readonly<Record<string, string | number | null>>;

const SELF = { definition: { conversation: "self" } } as const;
const run = (host: Host, query: string) => host.sql<Record<string, unknown>>(Support, "main", query);
const literal = (value: string | number | null) =>
  typeof value === "string" ? `'${value.replaceAll("'", "''")}'` : String(value);

function insert(host: Host, table: string, rows: readonly Row[]): void {
  for (const row of rows)
    run(
      host,
      `INSERT INTO ${table} (${Object.keys(row).join(", ")}) VALUES (${Object.values(row).map(literal).join(", ")})`
    );
}

interface Old {
  readonly events?: readonly Row[];
  readonly replies?: readonly Row[];
  readonly turns?: readonly Row[];
}

const AT = Date.UTC(2100, 0, 1);

/** The rows are there before the object starts. Items of other capabilities stay: what is parked is one of them. */
async function leave(host: Host, { events = [], replies = [], turns = [] }: Old): Promise<void> {
  host.kill();
  const hasWork = run(host, "SELECT 1 FROM sqlite_master WHERE name = 'cf_work'").length > 0;
  if (hasWork) run(host, "DELETE FROM cf_work WHERE kind LIKE 'messenger-%'");
  for (const statement of OLD_TABLES) run(host, statement);
  insert(host, "cf_messenger_events", events);
  insert(host, "cf_messenger_replies", replies);
  insert(host, "cf_messenger_turns", turns);
  await host.restart();
}

const THREAD = "slack:D7:";
const keyOf = (id: string) => `messenger:slack:message:slack:D7::${id}`;

function eventOf(id: string, thread = THREAD): string {
  const author = { userId: "U7", userName: "ada", isBot: false, isMe: false };
  return JSON.stringify({
    kind: "direct-message",
    messengerId: "slack",
    provider: "slack",
    capabilities: {},
    thread: { id: thread, providerThreadId: thread, channelId: thread, isDirectMessage: true },
    message: { id, providerMessageId: id, text: `text ${id}`, author, attachments: [] }
  });
}

const event = (id: string, more: Row = {}): Row => ({
  ...{ key: keyOf(id), messenger: "slack", thread: THREAD, event: eventOf(id), reply_id: null, due_at: 5, at: AT },
  ...more
});

const replyRow = (key: string, job: unknown, more: Row = {}): Row => ({
  ...{ key, messenger: "slack", thread: THREAD, job: JSON.stringify(job), lane: `slack\n${THREAD}\nbeside` },
  ...{ stage: "accepted", posts: "[]", attempts: 0, due_at: 5, created_at: 1, ended_at: null },
  ...more
});

const COLUMNS = `key, lane, CASE WHEN settled_at IS NOT NULL THEN 'settled' WHEN due_at IS NULL THEN 'parked' ELSE 'waiting' END AS state,
  due_at, claim, failures`;

test("messages that waited are questions of their threads, in order, of fifty at most, and known ones stay known", async () => {
  const host = await openBot("slack", Array(9).fill(reply(text("Well."))), SELF);
  await host.get(Support, "main");
  const later = host.now + 3_600_000;
  const many = Array.from({ length: 51 }, (_, index) => event(`many-${index}`, { thread: "slack:D9:", due_at: later }));
  await leave(host, {
    events: [
      event("answered", { reply_id: keyOf("answered"), at: host.now }),
      event("a", { due_at: later }),
      ...many,
      event("half", { event: '{"half', due_at: later }),
      event("b", { due_at: later }),
      event("soon", { thread: "slack:D8:", event: eventOf("soon", "slack:D8:"), due_at: "soon" })
    ],
    replies: [
      replyRow(
        keyOf("answered"),
        { do: "answer", events: [] },
        { due_at: null, stage: "completed", ended_at: host.now }
      )
    ]
  });
  await host.get(Support, "main");
  const waiting = `SELECT ${COLUMNS} FROM cf_work WHERE due_at IS NOT NULL ORDER BY id`;
  const question = (id: string, thread = THREAD) => ({
    ...{ key: keyOf(id), lane: `slack\n${thread}`, state: "waiting", due_at: later, claim: 0, failures: 0 }
  });
  expect(run(host, waiting)).toEqual([
    question("a"),
    question("many-0", "slack:D9:"),
    question("many-50", "slack:D9:"),
    question("half")
  ]);
  // What is due at no time is due.
  await answered(host);
  expect([bot.script.calls.length, JSON.stringify(bot.script.calls[0]?.prompt)]).toEqual([
    1,
    expect.stringContaining("text soon")
  ]);
  const [first] = run(host, `SELECT payload FROM cf_work WHERE key = '${keyOf("a")}'`);
  const { job, ...place } = JSON.parse(String(first?.["payload"])) as {
    job: { events: { message: { id: string } }[] };
  };
  expect(place).toEqual({ messengerId: "slack", threadId: THREAD, posts: [] });
  expect(job.events.map(({ message }) => message.id)).toEqual(["a", "b"]);
  const known = run(host, "SELECT key FROM cf_work WHERE settled_at IS NOT NULL").map(({ key }) => key);
  expect(known).toEqual(expect.arrayContaining(["answered", "b", "many-1", "many-49"].map(keyOf)));
  expect(run(host, "SELECT name FROM sqlite_master WHERE name LIKE 'cf_messenger_events%'")).toEqual([]);
  // A message that comes now belongs to the question that waits; one that is known is nothing.
  await host.advance(3_600_000);
  await answered(host);
  const asked = bot.script.calls.map(({ prompt }) => JSON.stringify(prompt));
  expect(asked).toHaveLength(4);
  expect(asked.filter((prompt) => prompt.includes("text half"))).toEqual([]);
  expect(run(host, "SELECT source, row_key, body FROM cf_quarantine")).toEqual([
    { source: "cf_work", row_key: `messenger-reply:${keyOf("half")}`, body: '{"half' }
  ]);
});

test("replies go on where they were: posted messages are edited, failures are counted, ended ones stay known", async () => {
  const host = await openBot("slack", [reply(text("An answer that the chat has begun to see already."))], SELF);
  await host.get(Support, "main");
  const { fake } = bot.driver;
  const posted = await (fake as FakeSlack).fetch("https://slack.com/api/chat.postMessage", {
    method: "POST",
    headers: { authorization: "Bearer xoxb-test", "content-type": "application/json" },
    body: JSON.stringify({ channel: "D7", text: "An answer …" })
  });
  const { ts } = (await posted.json()) as { ts: string };
  const at = host.now;
  await leave(host, {
    events: [event("begun", { reply_id: keyOf("begun") }), event("next", { due_at: at })],
    replies: [
      replyRow(
        keyOf("begun"),
        { do: "answer", events: [JSON.parse(eventOf("begun"))] },
        { lane: `slack\n${THREAD}`, stage: "streaming", posts: JSON.stringify([{ id: ts }]), due_at: at }
      ),
      replyRow("failing", { do: "say", message: "At last." }, { attempts: 299, due_at: at + 9_000 }),
      replyRow("over", { do: "say", message: "Never." }, { due_at: null, stage: "completed", ended_at: at }),
      replyRow("no end", { do: "say", message: "Never." }, { due_at: null, created_at: at }),
      replyRow("job", {}, { job: "{half", due_at: at }),
      replyRow("posts", { do: "say", message: "Never." }, { posts: "[half", due_at: at })
    ]
  });
  fake.failNext(fake.postCall, { status: 500 });
  await host.get(Support, "main");
  const rows = run(host, `SELECT ${COLUMNS} FROM cf_work WHERE key IN ('failing', 'over', 'no end') ORDER BY id`);
  const beside = `slack\n${THREAD}\nbeside`;
  expect(rows).toEqual([
    { key: "failing", lane: beside, state: "waiting", due_at: at + 9_000, claim: 300, failures: 299 },
    { key: "over", lane: beside, state: "settled", due_at: null, claim: 1, failures: 0 },
    { key: "no end", lane: beside, state: "settled", due_at: null, claim: 1, failures: 0 }
  ]);
  await answered(host);
  expect(fake.texts()[0]).toBe("An answer that the chat has begun to see already.");
  const asked = bot.script.calls.map(({ prompt }) => JSON.stringify(prompt));
  expect(asked.map((prompt) => [prompt.includes("text begun"), prompt.includes("text next")])).toEqual([
    [true, false],
    [true, true]
  ]);
  await answered(host, 20_000);
  expect(fake.texts()).toContain("At last.");
  const bad = run(host, "SELECT row_key FROM cf_quarantine ORDER BY row_key");
  expect(bad.map(({ row_key }) => row_key)).toEqual(["messenger-reply:job", "messenger-reply:posts"]);
});

test("a question that was asked is answered by its button, and its message is changed, also after its reply is forgotten", async () => {
  const deployed: string[] = [];
  const deploy = action({
    description: "Deploys.",
    inputSchema: z.object({ ref: z.string() }),
    kind: "durable-pause",
    execute: ({ ref }) => void deployed.push(ref)
  });
  const steps = [reply(toolCall("deploy", { ref: "v2" })), ...Array(3).fill(reply(text("Well.")))];
  const host = await openBot("slack", steps, { actions: () => ({ deploy }), ...SELF });
  await host.fetch(bot.driver.says("Deploy v2"));
  await answered(host);
  const [asked] = run(host, "SELECT token, question, shown FROM cf_messenger_approvals");
  const { messageId } = JSON.parse(String(asked?.["shown"])) as { messageId: string };
  const question = String(asked?.["question"]);
  const rows = host.sql<Row>(Support, "main", "SELECT * FROM cf_messenger_approvals");
  host.kill();
  run(host, "DROP TABLE cf_messenger_approvals");
  run(host, "UPDATE cf_meta SET tables = NULL");
  run(host, OLD_QUESTIONS);
  insert(
    host,
    "cf_messenger_approvals",
    rows.map(({ shown: _shown, ...row }) => row)
  );
  const job = { do: "ask", token: String(asked?.["token"]), shown: { isWhole: true, buttonsAt: 0 } };
  const ended = { due_at: null, stage: "completed", posts: JSON.stringify([{ id: messageId }]), ended_at: host.now };
  await leave(host, { replies: [replyRow(question, job, ended)] });
  await host.get(Support, "main");
  await host.advance(8 * 24 * 3_600_000);
  await host.fetch(bot.driver.presses("Approve"));
  await answered(host, 20_000);
  expect(deployed).toEqual(["v2"]);
  const shown = bot.driver.fake.messages();
  expect(shown.filter((one) => /Approved by ada/.test(one.text))).toHaveLength(1);
  expect(shown.flatMap(({ buttons }) => buttons)).toEqual([]);
});

test("a press that may have decided is found begun, and one that has not is taken", async () => {
  const host = await openBot("slack", [], SELF);
  await host.get(Support, "main");
  const press = { do: "press", event: JSON.parse(eventOf("p")) as object };
  const later = host.now + 3_600_000;
  await leave(host, {
    replies: [
      replyRow("press:begun", press, { stage: "streaming", due_at: later }),
      replyRow("press:new", press, { due_at: later })
    ]
  });
  await host.get(Support, "main");
  expect(run(host, "SELECT key, payload ->> '$.job.isBegun' AS begun FROM cf_work ORDER BY id")).toEqual([
    { key: "press:begun", begun: 1 },
    { key: "press:new", begun: null }
  ]);
});

test("turns that were followed are reported once they are over, and reports that waited are delivered", async () => {
  const host = await openBot("slack", [], SELF);
  await host.get(Support, "main");
  const origin = JSON.stringify({ messengerId: "slack", thread: { id: THREAD } });
  const place = { messengerId: "slack", threadId: THREAD };
  const report = { ...place, turnId: "t2", requestId: "r2", text: "Deployed.", failed: false, target: [] };
  await leave(host, {
    turns: [
      { turn_id: "t1", request_id: "r1", origin, report: null, due_at: null },
      { turn_id: "t2", request_id: "r2", origin, report: JSON.stringify(report), due_at: host.now },
      { turn_id: "t3", request_id: "r3", origin, report: "{half", due_at: host.now },
      { turn_id: "t4", request_id: "r4", origin: "{half", report: null, due_at: null }
    ]
  });
  await host.get(Support, "main");
  await answered(host);
  expect(bot.driver.fake.texts()).toEqual(["Deployed."]);
  expect(run(host, "SELECT key FROM cf_work WHERE kind = 'messenger-turn'")).toEqual([]);
  const replies = run(host, "SELECT key FROM cf_work WHERE kind = 'messenger-reply' ORDER BY key");
  expect(replies.map(({ key }) => key)).toEqual(["turn:t1", "turn:t2"]);
  const bad = run(host, "SELECT row_key FROM cf_quarantine ORDER BY row_key");
  expect(bad.map(({ row_key }) => row_key)).toEqual(["messenger-turn:t3", "messenger-turn:t4"]);
  expect(
    run(host, "SELECT name FROM sqlite_master WHERE name IN ('cf_messenger_turns', 'cf_messenger_replies')")
  ).toEqual([]);
});
