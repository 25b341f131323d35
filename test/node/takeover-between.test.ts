// Objects of versions between the two layouts, whose open submissions have a wake of the original's own.
import { expect, test } from "vitest";
import { BETWEEN, call, load, openHost } from "../takeover/kit.ts";

interface Message {
  readonly role: string;
  readonly parts: readonly { readonly type: string; readonly text?: string }[];
}

test.each(BETWEEN)("open submissions of %s run once, in order, with their ids, keys and metadata", async (version) => {
  const host = openHost();
  load(host, version, "Assistant.submitting");
  const ask = <T>(method: string, ...args: unknown[]) =>
    call<T>(host, ["assistant", "submitting", method] as const, ...args);
  const report = await ask<{ kinds: object[] }>("getTakeoverReport");
  expect(report.kinds).toContainEqual(expect.objectContaining({ kind: "submissions", found: 3, carried: 3, left: 0 }));
  await host.idle();
  const submissions = await ask<{ createdAt: number }[]>("submissions");
  expect(submissions.toSorted((one, other) => one.createdAt - other.createdAt)).toMatchObject(
    ["k1", "k2", "k3"].map((key) => ({
      submissionId: expect.any(String),
      status: "completed",
      idempotencyKey: key,
      metadata: { from: "test", key }
    }))
  );
  const shown = await ask<Message[]>("transcript");
  const texts = shown.map(({ role, parts }) => `${role}: ${parts.map(({ text = "" }) => text).join("")}`);
  expect(texts).toEqual([
    "user: say Hello there.",
    "assistant: Hello there.",
    "user: say Submitted one.",
    "assistant: Submitted one.",
    "user: hold Submitted two words",
    "assistant: Submitted two words",
    "user: say Submitted three.",
    "assistant: Submitted three."
  ]);
  expect(await ask("submit", "say Submitted three.", "k3")).toMatchObject({ accepted: false });
});
