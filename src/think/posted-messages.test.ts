import { DatabaseSync } from "node:sqlite";
import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import type { SessionMessage } from "../session/session-message.ts";
import { openTestSession, text } from "../session/session.test-support.ts";
import type { Turns } from "../turn/turns.ts";
import { postedMessages } from "./posted-messages.ts";

/** Posts against what is stored, with nothing queued. */
function open() {
  const session = openTestSession(new DatabaseSync(":memory:"));
  const { store } = session;
  const path = () => store.getHistory() as (SessionMessage & UIMessage)[];
  const turns: Pick<Turns, "transcript"> = { transcript: path };
  const { plan } = postedMessages({ store, turns: turns as Turns, transcript: { path }, newId: () => "new" });
  const post = (...ids: string[]) => {
    session.sql.reset();
    const posted = ids.map((id) => text(id)) as (SessionMessage & UIMessage)[];
    return plan(posted, "submit-message").input.map(({ id }) => id);
  };
  return { ...session, post };
}

const lookups = (statements: readonly string[]) => statements.filter((query) => query.includes("m.id IN"));

test("a new message is not looked for where every message there ever was is shown", () => {
  const { store, post, sql } = open();
  for (const id of ["m0", "m1"]) store.appendMessage(text(id));
  expect(post("m2")).toEqual(["m2"]);
  expect(lookups(sql.statements)).toEqual([]);
});

test.each([
  ["of another branch", (store: ReturnType<typeof open>["store"]) => store.appendMessage(text("b1"), "m0")],
  ["below an edited one", (store: ReturnType<typeof open>["store"]) => store.editMessage(text("m0"), "archived")]
])("a message %s is known, and not taken for a new one", (_where, change) => {
  const { store, post } = open();
  for (const id of ["m0", "m1"]) store.appendMessage(text(id));
  change(store);
  expect(post("m1")).toEqual([]);
  expect(post("m2")).toEqual(["m2"]);
});
