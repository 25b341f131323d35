import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Think, type ChatResponseResult } from "../../src/index.ts";
import { createScript, createTestHost, everyCrash, reply, text, toolCall } from "../../src/testing/index.ts";
import type { Feature, FeatureFactory } from "../../src/feature/feature.ts";
import { Holder, messages, notes, open, say, scene, type NoteRow } from "./features-kit.ts";
import { user } from "../kit/messages.ts";

const errors = vi.spyOn(console, "error");
beforeEach(() => void errors.mockImplementation(() => {}));
afterEach(() => void errors.mockReset());

interface NotePart {
  readonly state: string;
  readonly output?: unknown;
  readonly approvalDescriptor?: unknown;
}

const logged = () => errors.mock.calls.map(([message]) => String(message));
const stored = (host: ReturnType<typeof open>) => host.sql(Holder, "a", "SELECT * FROM test_notes");
const tables = (host: ReturnType<typeof open>) =>
  host.sql(Holder, "a", "SELECT name FROM sqlite_master WHERE name = 'test_notes'");
const degradations = async (host: ReturnType<typeof open>) => (await host.get(Holder, "a")).getOnStartDegradations();

describe("a feature in the life of an agent", () => {
  test("brings a tool, a prompt section and its part in the turn, and makes its table with the first write", async () => {
    const host = open([reply(toolCall("note", { text: "milk" })), reply(text("Done."))]);
    const socket = await host.connect("/agents/holder/a");
    await socket.next("notes_hello");
    expect(tables(host)).toEqual([]);
    expect(await (await host.fetch("/agents/holder/a/notes")).json()).toEqual([]);
    await say(host, "Note milk.");
    expect(scene.trace).toEqual(["start 0", "onStart", "ready", "begin 1 true", "settled completed true"]);
    expect(stored(host)).toMatchObject([{ text: "milk", due_at: null }]);
    const chunk = await socket.next((frame) => JSON.stringify(frame).includes("tool-output-available"));
    expect(JSON.stringify(chunk)).toContain('\\"noted\\":true');
    const [first, second] = scene.script.calls;
    expect(JSON.stringify(first?.prompt)).toContain("There are 0 notes.");
    expect([first?.tools?.map(({ name }) => name), second?.tools ?? []]).toEqual([["note"], []]);
  });

  test("its prompt section is explained under its label", async () => {
    const host = open([]);
    const { sections } = await (await host.get(Holder, "a")).explainPrompt();
    expect(sections.map(({ name, label }) => [name, label])).toEqual([
      ["base", undefined],
      ["feature", "notes"],
      ["capabilities", undefined]
    ]);
  });

  test("its stop condition ends the turn after the step", async () => {
    const host = open([reply(toolCall("note", { text: "last" })), reply(text("never said"))]);
    await say(host, "Note the last.");
    expect(scene.script.calls).toHaveLength(1);
  });

  test("what it recorded before a crash is the outcome of the call that the turn lost", async () => {
    const host = open([reply(toolCall("note", { text: "milk" })), reply(text("Done."))]);
    scene.hangs = true;
    void say(host, "Note milk.").catch(() => undefined);
    await host.idle();
    await host.restart();
    await host.advance(120_000);
    const [, answer] = await messages(host);
    expect(answer?.parts).toContainEqual(
      expect.objectContaining({ type: "tool-note", state: "output-available", output: "found milk" })
    );
    expect(stored(host)).toHaveLength(1);
    expect(scene.trace.filter((entry) => entry.startsWith("settled"))).toEqual(["settled completed true"]);
    expect(scene.trace.filter((entry) => entry.startsWith("begin"))).toEqual(["begin 1 true", "begin 2 true"]);
  });

  test("killed anywhere, its rows and what the conversation says of them agree, and the outcome stays annotated", async () => {
    await everyCrash({
      create: () => open([reply(toolCall("note", { text: "milk" })), reply(text("Done."))]),
      script: async (host) => void (await say(host, "Note milk.")),
      finish: (host) => host.advance(600_000),
      inspect: async (host) => {
        const [, answer] = await messages(host);
        const part = answer?.parts.find(({ type }) => type === "tool-note") as NotePart | undefined;
        const rows = (await (await host.fetch("/agents/holder/a/notes")).json()) as NoteRow[];
        const isReported = part?.state === "output-available";
        return {
          rows: rows.length === (isReported ? 1 : 0),
          annotated: part?.output !== "noted milk" || part.approvalDescriptor !== undefined,
          settled: scene.trace.filter((entry) => entry.startsWith("settled")).length <= 1
        };
      }
    });
  }, 60_000);

  test("its wake comes after a restart, once, and an agent without due notes has no alarm", async () => {
    const host = open([reply(toolCall("note", { text: "call", inMs: 3_600_000 })), reply(text("Done."))]);
    await say(host, "Remind me.");
    await host.advance(15 * 60_000);
    await host.restart();
    expect(host.alarm(Holder, "a")).not.toBeNull();
    await host.advance(3_600_000);
    expect(scene.trace.filter((entry) => entry.startsWith("due"))).toEqual(["due call"]);
    await host.advance(24 * 3_600_000);
    expect(host.alarm(Holder, "a")).toBeNull();
  });

  test("the wake of a sub-agent's feature is owned by its root, which wakes it after a restart", async () => {
    const host = open([reply(toolCall("note", { text: "call", inMs: 3_600_000 })), reply(text("Done."))]);
    await (await host.get(Holder, "a")).inChild("Remind me.");
    await host.advance(15 * 60_000);
    expect(host.sql(Holder, "a", "SELECT key FROM cf_work WHERE kind = 'child-wake'")).toHaveLength(1);
    await host.restart();
    await host.advance(3_600_000);
    expect(scene.trace.filter((entry) => entry.startsWith("due"))).toEqual(["due call"]);
  });

  test("clearing the conversation is told to it in the same transaction", async () => {
    const host = open([reply(toolCall("note", { text: "milk" })), reply(text("Done."))]);
    await say(host, "Note milk.");
    await (await host.get(Holder, "a")).clearMessages();
    expect(stored(host)).toEqual([]);
  });

  test("what it attaches is given to onChatResponse", async () => {
    const seen: ChatResponseResult["attachments"][] = [];
    class Listening extends Holder {
      override onChatResponse({ attachments }: ChatResponseResult) {
        seen.push(attachments);
      }
    }
    Object.assign(scene, { script: createScript([reply(text("Hello."))]), features: () => [notes], trace: [] });
    const host = createTestHost({ agents: { Listening } });
    await (await host.get(Listening, "a")).saveMessages([user("u", "Hi")]);
    await host.idle();
    expect(seen).toEqual([[{ type: "card", notes: 0 }]]);
  });
});

describe("clients of a feature", () => {
  test("reach its route below the agent's address only, and what it leaves is the class's", async () => {
    const host = open([]);
    expect((await host.fetch("/agents/holder/a/notes")).status).toBe(200);
    expect((await host.fetch("/agents/holder/a/notes/7")).status).toBe(418);
    expect((await host.fetch("/agents/holder/a/notes", { method: "POST" })).status).toBe(418);
    expect((await host.fetch("/agents/holder/a/other/notes")).status).toBe(418);
    const broken = await host.fetch("/agents/holder/a/notes/broken");
    expect([broken.status, await broken.text()]).toEqual([500, "Internal Server Error"]);
    expect(logged()).toEqual(['The feature "notes" failed in routes:']);
  });

  test("send it frames, answered on their own connection; frames of others pass it by", async () => {
    const host = open([]);
    const socket = await host.connect("/agents/holder/a");
    socket.send({ type: "notes_add", text: "milk" });
    expect(await socket.next("notes_count")).toMatchObject({ count: 1 });
    socket.send({ type: "rpc", id: "1", method: "pendingApprovals", args: [] });
    expect(await socket.next("rpc")).toMatchObject({ success: true });
    await host.restart();
    expect(stored(host)).toHaveLength(1);
  });
});

describe("several features", () => {
  const part = (name: string, more: Partial<Feature> = {}): FeatureFactory => {
    return () => ({
      name,
      start: () => void scene.trace.push(`start ${name}`),
      ready: () => void scene.trace.push(`ready ${name}`),
      ...more
    });
  };

  test("start, get ready and take part in a turn in the order of the list", async () => {
    const speaking = (name: string) =>
      part(name, {
        inTurn: () => ({
          prompt: [{ label: name, text: `I am ${name}.` }],
          begin: () => void scene.trace.push(`begin ${name}`),
          beforeStep: () => ({ toolChoice: name === "b" ? "none" : "auto" })
        })
      });
    const host = open([reply(text("Hello."))], () => [speaking("a"), speaking("b")]);
    await say(host, "Hi");
    expect(scene.trace).toEqual(["start a", "start b", "onStart", "ready a", "ready b", "begin a", "begin b"]);
    const [call] = scene.script.calls;
    expect(JSON.stringify(call?.prompt)).toContain("I am a.\\n\\nI am b.");
    // The later one wins.
    expect(call?.toolChoice).toEqual({ type: "none" });
  });

  const thrown = () => {
    throw new Error("broken");
  };

  test.each<[string, FeatureFactory]>([
    ["its factory throws", Object.defineProperty(thrown, "name", { value: "bad" })],
    ["its start throws", part("bad", { start: thrown })],
    ["its start rejects", part("bad", { start: async () => thrown() })]
  ])("one is left out and named when %s; the others and the agent are up", async (_when, bad) => {
    const host = open([reply(text("Hello."))], () => [bad, part("good")]);
    expect(await say(host, "Hi")).toMatchObject({ status: "completed" });
    expect(await degradations(host)).toEqual([{ step: "feature:bad", error: "broken" }]);
    expect(scene.trace).toContain("ready good");
    expect(scene.trace).not.toContain("ready bad");
    expect(logged()).toEqual([
      expect.stringMatching(/^\w+ "\w+": the start step "feature:bad" failed; the agent is up without it\.$/)
    ]);
  });

  test("a throw of ready, nextWake, connected or settled is logged with its name and costs nothing else", async () => {
    const bad = part("bad", { ready: thrown, nextWake: thrown, connected: thrown, settled: thrown });
    const host = open([reply(text("Hello."))], () => [bad, part("good")]);
    await host.connect("/agents/holder/a");
    expect(await say(host, "Hi")).toMatchObject({ status: "completed" });
    expect(scene.trace).toContain("ready good");
    expect(new Set(logged())).toEqual(
      new Set(["ready", "nextWake", "connected", "settled"].map((member) => `The feature "bad" failed in ${member}:`))
    );
  });

  test("a wake that fails is repeated, after every feature has had its own", async () => {
    let failures = 2;
    const due = { at: 60_000 };
    const flaky = part("flaky", {
      nextWake: () => (failures > 0 ? due.at : null),
      runDue: async () => {
        if (failures === 0) return;
        failures -= 1;
        thrown();
      }
    });
    const steady = part("steady", { runDue: async () => void scene.trace.push("due steady") });
    const host = open([], () => [flaky, steady]);
    due.at = host.now + 60_000;
    await degradations(host);
    await host.advance(600_000);
    expect(failures).toBe(0);
    expect(scene.trace.filter((entry) => entry === "due steady").length).toBeGreaterThanOrEqual(3);
  });

  test.each<[string, Partial<Feature>, string]>([
    ["name", { name: "notes" }, "notes"],
    ["table", { tables: [{ name: "test_notes" }] }, "test_notes"],
    ["tool", { toolNames: ["note"] }, "note"],
    ["route", { routes: { notes: () => undefined } }, "notes"],
    ["route", { routes: { "get-messages": () => undefined } }, "get-messages"],
    ["role", { roles: { attachmentsOf: () => [] } }, "attachmentsOf"]
  ])("a %s that is taken refuses the second feature at the start: %o", async (kind, clash, name) => {
    const second = part("second", { ...clash, ready: () => void scene.trace.push("ready second") });
    const host = open([reply(text("Hello."))], () => [notes, second]);
    expect(await say(host, "Hi")).toMatchObject({ status: "completed" });
    const [degraded] = await degradations(host);
    expect(degraded?.error).toContain(`its ${kind} "${name}" is taken`);
    expect(errors.mock.calls[0]?.[1]).toMatchObject({ code: "feature-clash" });
    expect(scene.trace).toContain("ready");
    expect(scene.trace).not.toContain("ready second");
  });
});

describe("what a class does not use", () => {
  test("is not called in a turn: neither features without a part in it nor a getActions() that the class does not have", async () => {
    const calls: string[] = [];
    const counted = (feature: Feature): Feature =>
      new Proxy(feature, {
        get(target, member) {
          const value: unknown = Reflect.get(target, member);
          if (typeof value !== "function") return value;
          return (...args: unknown[]) => {
            calls.push(String(member));
            return Reflect.apply(value, target, args);
          };
        }
      });
    const bystander = () =>
      counted({
        name: "bystander",
        start: () => undefined,
        ready: () => undefined,
        connected: () => undefined,
        stop: () => undefined,
        routes: { notes: () => undefined }
      });
    const inherited = vi.spyOn(Think.prototype, "getActions");
    const host = open([reply(text("One.")), reply(text("Two."))], () => [bystander]);
    await say(host, "one");
    calls.length = 0;
    await say(host, "two");
    expect(calls).toEqual([]);
    expect(inherited).not.toHaveBeenCalled();
    inherited.mockRestore();
  });
});
