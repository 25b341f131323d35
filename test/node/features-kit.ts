// A small feature that uses every member of the interface: notes with a due time. What outlives the process is in
// `scene`, as far as it is not in the feature's own table.
import { tool, type UIMessageChunk } from "ai";
import { z } from "zod";
import type { Connection, ConnectionContext } from "../../src/agent-class/index.ts";
import { Think } from "../../src/index.ts";
import { createScript, createTestHost, scriptedModel, type Script, type Step } from "../../src/testing/index.ts";
import type { Feature, FeatureFactory } from "../../src/feature/feature.ts";
import type { ChatServices } from "../../src/feature/services.ts";
import { storedMessages, user } from "../kit/messages.ts";

export interface NoteRow {
  readonly call_id: string;
  readonly text: string;
  readonly due_at: number | null;
}

interface Scene {
  script: Script;
  features: (agent: Holder) => readonly FeatureFactory[];
  /** What features were called with, in order. */
  trace: string[];
  /** Keeps the tool from returning: the process dies in it. */
  hangs: boolean;
}

export const scene: Scene = { script: createScript([]), features: () => [notes], trace: [], hangs: false };

export class Holder extends Think {
  override workspaceTools = false;
  override getModel() {
    return scriptedModel(scene.script);
  }
  override getFeatures(): readonly FeatureFactory[] {
    return scene.features(this);
  }
  override onStart() {
    scene.trace.push("onStart");
  }
  override onRequest() {
    return new Response("the class", { status: 418 });
  }
  override shouldConnectionBeReadonly(_connection: Connection, { request }: ConnectionContext) {
    return new URL(request.url).searchParams.has("watch");
  }
  /** A method of the class: no feature may take its name. */
  taken() {
    return "class";
  }
  async inChild(text: string) {
    const child = await this.subAgent(Child, "c");
    await child.saveMessages([user(text)]);
  }
}

/** The same as a sub-agent: its wakes are rows of its root. */
export class Child extends Holder {}

export function open(steps: Step[], features: Scene["features"] = () => [notes]) {
  Object.assign(scene, { script: createScript(steps), features, trace: [], hangs: false });
  return createTestHost({ agents: { Holder }, exports: [Child] });
}

export const say = async (host: ReturnType<typeof open>, text: string) =>
  (await host.get(Holder, "a")).saveMessages([user(text)]);

export const messages = (host: ReturnType<typeof open>) => storedMessages(host, "/agents/holder/a");

class Notes {
  readonly #host: ChatServices;

  constructor(host: ChatServices) {
    this.#host = host;
  }

  add(note: NoteRow): void {
    const { sql, rearm } = this.#host;
    sql.run("CREATE TABLE IF NOT EXISTS test_notes (call_id TEXT PRIMARY KEY, text TEXT, due_at INTEGER)");
    sql.run("INSERT INTO test_notes VALUES (?, ?, ?)", note.call_id, note.text, note.due_at);
    rearm();
  }

  list(): NoteRow[] {
    return this.#isMade ? this.#host.sql.all<NoteRow>("SELECT * FROM test_notes ORDER BY call_id") : [];
  }

  done(callId: string): void {
    this.#host.sql.run("UPDATE test_notes SET due_at = NULL WHERE call_id = ?", callId);
  }

  clear(): void {
    if (this.#isMade) this.#host.sql.run("DELETE FROM test_notes");
  }

  get #isMade(): boolean {
    return this.#host.sql.one("SELECT 1 FROM sqlite_master WHERE name = 'test_notes'") !== undefined;
  }
}

const said = (what: string) => void scene.trace.push(what);

export function notes(host: ChatServices): Feature {
  const rows = new Notes(host);
  const never = new Promise<never>(() => undefined);
  return {
    name: "notes",
    tables: [{ name: "test_notes" }],
    toolNames: ["note"],
    start: async () => said(`start ${rows.list().length}`),
    ready: () => said("ready"),
    nextWake: () => rows.list().reduce<number | null>((first, { due_at }) => first ?? due_at, null),
    async runDue() {
      const due = rows.list().filter(({ due_at }) => due_at !== null && due_at <= host.clock.now());
      for (const { call_id, text } of due) {
        rows.done(call_id);
        said(`due ${text}`);
        host.broadcast({ type: "notes_due", text });
      }
    },
    inTurn: (turn) => ({
      tools: {
        workspace: {
          note: tool({
            inputSchema: z.object({ text: z.string(), inMs: z.number().optional() }),
            execute: async ({ text, inMs }, { toolCallId }) => {
              rows.add({ call_id: toolCallId, text, due_at: inMs === undefined ? null : host.clock.now() + inMs });
              if (scene.hangs) await never;
              return `noted ${text}`;
            }
          })
        }
      },
      prompt: [{ label: "notes", text: `There are ${rows.list().length} notes.` }],
      begin: ({ system }) => said(`begin ${turn.attempt} ${system.includes("There are")}`),
      beforeStep: ({ stepNumber }) => (stepNumber > 0 ? { activeTools: [] } : undefined),
      stopWhen: () => rows.list().some(({ text }) => text === "last"),
      annotate: (chunk) => marked(chunk)
    }),
    settled: ({ requestId }, { status }) => said(`settled ${status} ${requestId !== ""}`),
    cleared: () => rows.clear(),
    calls: {
      runsTool: (toolName) => toolName === "note",
      lostOutcome({ toolCallId }) {
        const row = rows.list().find(({ call_id }) => call_id === toolCallId);
        return row && [`found ${row.text}`];
      },
      annotateRecovered: (chunk) => marked(chunk)
    },
    roles: { attachmentsOf: () => [{ type: "card", notes: rows.list().length }] },
    routes: {
      notes: (request, rest) => {
        if (rest === "/broken") throw new Error("a secret of the feature");
        return rest === "" && request.method === "GET" ? Response.json(rows.list()) : undefined;
      }
    },
    receive(connection, frame) {
      const { type, text } = JSON.parse(frame) as { type: string; text?: unknown };
      if (type !== "notes_add") return false;
      if (typeof text === "string") rows.add({ call_id: host.ids.next(), text, due_at: null });
      connection.send(JSON.stringify({ type: "notes_count", count: rows.list().length }));
      return true;
    },
    connected: (connection) => void connection.send(JSON.stringify({ type: "notes_hello" }))
  };
}

function marked(chunk: UIMessageChunk): UIMessageChunk {
  return chunk.type === "tool-output-available" ? { ...chunk, ...{ approvalDescriptor: { noted: true } } } : chunk;
}
