// A kill at any write leaves the conversation as it was before the call, or as it is after it.
import { DatabaseSync } from "node:sqlite";
import { expect, test, vi } from "vitest";
import { Crash } from "../journal/memory-sql.test-support.ts";
import type { MessageStore } from "./message-store.ts";
import { openTestSession, text, type TestSession } from "./session.test-support.ts";

const LARGE = "x".repeat(2_500_000);

const CALLS: [string, (store: MessageStore) => void][] = [
  ["append", (store) => store.appendMessage(text("new"))],
  ["append of a large message", (store) => store.appendMessage(text("new", "user", LARGE))],
  ["branch", (store) => store.appendMessage(text("new"), "m1")],
  ["update", (store) => store.updateMessage(text("m2", "user", LARGE))],
  ["delete", (store) => store.deleteMessages(["m2", "m4"])],
  ["edit", (store) => store.editMessage(text("m1", "user", "edited"), "archived")],
  ["clear", (store) => store.clearMessages()]
];

function prepare(): TestSession {
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
  const session = openTestSession(new DatabaseSync(":memory:"));
  for (const id of ["m0", "m1", "m2", "m3"]) session.store.appendMessage(text(id));
  session.store.appendMessage(text("m4", "user", LARGE));
  return session;
}

const picture = ({ memory }: TestSession) => ({
  messages: memory.all("SELECT * FROM assistant_messages ORDER BY sequence"),
  blobs: memory.all("SELECT owner, hash FROM cf_blob_owners ORDER BY owner, hash"),
  chunks: memory.all("SELECT hash, chunk FROM cf_blob_chunks ORDER BY hash, chunk"),
  conversation: memory.all("SELECT * FROM cf_conversations")
});

test.each(CALLS)("%s is all or nothing wherever the process dies", (_name, call) => {
  const session = prepare();
  const before = picture(session);
  let writes = session.memory.writes;
  call(session.store);
  writes = session.memory.writes - writes;
  const after = picture(session);
  for (let write = 1; write <= writes; write += 1) {
    const killed = prepare();
    killed.memory.crashAtWrite(write);
    expect(() => call(killed.store)).toThrow(Crash);
    const rebooted = killed.reboot();
    expect(picture(rebooted)).toEqual(before);
    call(rebooted.store);
    expect(picture(rebooted)).toEqual(after);
  }
});
