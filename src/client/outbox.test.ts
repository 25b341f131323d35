import { expect, test } from "vitest";
import { type OutboxCommand, MAX_FRAME_BYTES, Outbox } from "./outbox.ts";

function stage() {
  const network = { isOpen: true, isGreeted: true, sent: [] as string[] };
  const outbox = new Outbox({
    isGreeted: () => network.isGreeted,
    send: (text) => {
      if (network.isOpen) network.sent.push(text);
      return network.isOpen;
    }
  });
  const add = (key: string, options: Partial<OutboxCommand> = {}) =>
    code(outbox.add({ key, frame: key, isChat: false, needsAnswer: false, ...options }));
  return { outbox, network, add, sent: () => network.sent.splice(0) };
}

const code = (promise: Promise<unknown>) =>
  promise.then(
    () => "resolved",
    (error: { code?: string; message: string }) => error.code ?? error.message
  );

test("a command that has to wait holds back all those behind it", () => {
  const { outbox, network, add, sent } = stage();
  network.isGreeted = false;
  void add("call 1");
  void add("ask", { isChat: true });
  void add("call 2");
  expect(sent()).toEqual(["call 1"]);
  network.isGreeted = true;
  outbox.pump();
  expect(sent()).toEqual(["ask", "call 2"]);
});

test("an answer to what was sent later confirms all before it, but for those that have an answer of their own", async () => {
  const { outbox, add } = stage();
  const first = add("first");
  void add("call", { needsAnswer: true });
  const { mark } = outbox;
  void add("later");
  outbox.confirm(mark);
  expect(await first).toBe("resolved");
  expect(["first", "call", "later"].map((key) => outbox.has(key))).toEqual([false, true, true]);
});

test("after a drop everything in doubt is sent again in its place, and what must not be repeated is lost", async () => {
  const { outbox, network, add, sent } = stage();
  void add("first");
  const call = add("call", { lost: () => new Error("lost") });
  void add("second");
  network.isOpen = false;
  outbox.dropped(false);
  void add("third");
  expect(await call).toBe("lost");
  sent();
  network.isOpen = true;
  outbox.pump();
  expect(sent()).toEqual(["first", "second", "third"]);
});

test("a command that the server evidently has is not sent again", async () => {
  const { outbox, add, sent } = stage();
  const doubts: boolean[] = [];
  const done = add("first", {
    isDone: (isInDoubt) => {
      doubts.push(isInDoubt);
      return isInDoubt;
    }
  });
  outbox.settle();
  outbox.dropped(false);
  outbox.settle();
  expect(await done).toBe("resolved");
  outbox.pump();
  expect(sent()).toEqual(["first"]);
  expect(doubts).toEqual([false, true]);
});

test("the same thing done again takes the first one's place at the end, and both callers get the same result", async () => {
  const { outbox, network, add, sent } = stage();
  network.isOpen = false;
  const first = add("same", { frame: "old" });
  void add("other");
  const second = add("same", { frame: "new" });
  network.isOpen = true;
  outbox.pump();
  expect(sent()).toEqual(["other", "new"]);
  outbox.refuse("same", new Error("no"));
  expect([await first, await second]).toEqual(["no", "no"]);
});

test("what is too large to be sent is refused at once, and never sent", async () => {
  const { add, sent } = stage();
  expect(await add("large", { frame: "é".repeat(MAX_FRAME_BYTES / 2 + 1) })).toBe("frame-too-large");
  expect(sent()).toEqual([]);
  void add("fits", { frame: "x".repeat(MAX_FRAME_BYTES) });
  expect(sent()).toHaveLength(1);
});

test("a server that takes less is not sent the same large thing again, but all the rest", async () => {
  const { outbox, add, sent } = stage();
  void add("small");
  const large = add("large", { frame: "a large thing" });
  void add("other");
  sent();
  outbox.dropped(true);
  outbox.pump();
  expect(await large).toBe("frame-too-large");
  expect(sent()).toEqual(["small", "other"]);
});

test("when the client is closed, callers stop waiting and what may be repeated stays for the next connection", async () => {
  const { outbox, network, add, sent } = stage();
  network.isOpen = false;
  const [ask, call] = [add("ask"), add("call", { lost: () => new Error("lost") })];
  outbox.closed(new Error("closed"));
  expect([await ask, await call]).toEqual(["closed", "closed"]);
  network.isOpen = true;
  outbox.pump();
  expect(sent()).toEqual(["ask"]);
});

test("closed for good, it takes nothing until it is opened again", async () => {
  const { outbox, network, add, sent } = stage();
  network.isOpen = false;
  const before = add("before");
  outbox.closeForGood(new Error("refused"));
  expect([await before, await add("after")]).toEqual(["refused", "refused"]);
  network.isOpen = true;
  outbox.reopen();
  void add("again");
  expect(sent()).toEqual(["again"]);
});
