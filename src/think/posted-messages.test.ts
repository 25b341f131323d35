import { DatabaseSync } from "node:sqlite";
import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import type { SessionMessage } from "../session/session-message.ts";
import { openTestSession, text } from "../session/session.test-support.ts";
import { postedMessages } from "./posted-messages.ts";

/** Posts against what is stored, with nothing queued. */
function open() {
  const session = openTestSession(new DatabaseSync(":memory:"));
  const { store } = session;
  const path = () => store.getHistory() as (SessionMessage & UIMessage)[];
  const turns = { transcript: path };
  const reconciler = postedMessages({ store, turns, transcript: { path }, ids: { next: () => "new" } });
  const planOf = (...posted: SessionMessage[]) =>
    reconciler.plan(posted as (SessionMessage & UIMessage)[], "submit-message");
  const plan = (...ids: string[]) => planOf(...ids.map((id) => text(id)));
  const post = (...ids: string[]) => {
    session.sql.reset();
    return plan(...ids).input.map(({ id }) => id);
  };
  return { ...session, post, plan, planOf };
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

test.each<[string, string[], "equal" | "part" | "different"]>([
  ["the whole list with a new question", ["m0", "m1", "new"], "equal"],
  ["only the new question", ["new"], "part"],
  ["the end of the list", ["m1", "new"], "part"],
  ["a list that lacks the middle", ["m0", "new"], "different"],
  ["another order", ["m1", "m0"], "different"],
  ["a message twice", ["m0", "m0"], "different"]
])("a client that posts %s", (_name, ids, expected) => {
  const { store, plan } = open();
  for (const id of ["m0", "m1"]) store.appendMessage(text(id));
  expect(plan(...ids).clientShows).toBe(expected);
});

test("a client that posts other content of a stored answer shows something else", () => {
  const { store, planOf } = open();
  for (const id of ["m0", "m1"]) store.appendMessage(text(id));
  expect(planOf(text("m0"), { ...text("m1"), parts: [{ type: "text", text: "forged" }] }).clientShows).toBe(
    "different"
  );
});
