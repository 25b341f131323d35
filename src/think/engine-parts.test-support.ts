// A real turn engine on the agent's own storage, with messages in memory: enough to see a class at work.
import { Blobs } from "../host/blobs.ts";
import { Conversation } from "../journal/conversation.ts";
import { openJournal } from "../journal/journal.ts";
import { MemoryTranscript } from "../turn/engine.test-support.ts";
import { TurnEngine } from "../turn/engine.ts";
import { roomOf, Think } from "./think.ts";
import { giveParts, type OpenParts, type ThinkTurns } from "./wiring.ts";

const openEngineParts: OpenParts = ({ runtime, hooks, sdk }) => {
  const { sql, clock, ids } = runtime;
  const conversation = new Conversation(sql);
  const transcript = new MemoryTranscript();
  const engine = new TurnEngine({
    conversation,
    journal: openJournal({ sql, blobs: new Blobs(sql), conversation, report: (error) => console.error(error) }),
    transcript,
    hooks,
    sdk,
    clock,
    ids,
    emit: (type, payload) => runtime.emit(type, payload),
    background: (work) => runtime.background(work),
    keepAlive: (work) => runtime.keepAlive.while(work)
  });
  const turns: ThinkTurns = Object.assign(engine, { reset: () => engine.cancelAll("reset") });
  return {
    turns,
    connectionOf: () => undefined,
    transcript: {
      messages: () => transcript.path(),
      leaf: () => transcript.path().at(-1),
      add: (messages) => messages.forEach((message) => transcript.append(message)),
      append: (message, parentId) => transcript.append(message, parentId),
      update: (message) => transcript.update(message),
      invalidate: () => {},
      announce: () => {}
    }
  };
};

/** A Think on that engine. Its start is the runtime's to call; until it does, the class calls it itself. */
export abstract class EngineThink<Env = unknown> extends Think<Env> {
  override async onStart(): Promise<void> {
    this.sql`CREATE TABLE IF NOT EXISTS think_config (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID`;
    await roomOf(this).start();
  }
}

giveParts(EngineThink, openEngineParts);
