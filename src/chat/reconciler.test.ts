import { expect, test } from "vitest";
import { user } from "./chat-scene.test-support.ts";
import { compareShown, type ClientShows } from "./reconciler.ts";

const stored = [user("u1"), user("u2")];
const texts = new Map(stored.map((message) => [message.id, JSON.stringify(message)]));
const reordered = { parts: user("u1").parts, role: "user" as const, id: "u1" };

test.each<[string, ReturnType<typeof user>[], ReturnType<typeof user>[], ClientShows]>([
  ["the whole list with a new question", [...stored, user("u3")], [user("u3")], "equal"],
  ["the whole list", stored, [], "equal"],
  ["the same with other key order", [reordered, user("u2")], [], "equal"],
  ["only the new question", [user("u3")], [user("u3")], "part"],
  ["a list that lacks the middle", [user("u1"), user("u3")], [user("u3")], "part"],
  ["another text", [user("u1", "edited"), user("u2")], [], "different"],
  ["a message nobody stores", [...stored, user("forged")], [], "different"],
  ["a question that is stored differently", [...stored, user("u3", "raw")], [user("u3", "clean")], "different"]
])("a client that posts %s", (_name, posted, input, expected) => {
  const compare = (pathIds: string[] | undefined) =>
    compareShown({ posted, input, pathIds, storedText: (id) => texts.get(id) });
  expect(compare(["u1", "u2"])).toBe(expected);
  // Without the path nobody can say that it is all.
  expect(compare(undefined)).toBe(expected === "equal" ? "part" : expected);
});

test.each([
  ["another order", [user("u2"), user("u1")]],
  ["a message twice", [user("u1"), user("u1")]]
])("a client that posts %s shows something else", (_name, posted) => {
  const shown = { posted, input: [], storedText: (id: string) => texts.get(id) };
  expect(compareShown({ ...shown, pathIds: ["u1", "u2"] })).toBe("different");
});
