// The demo's program: the offline model writes code that calls two tools and waits for a person at the third.
import { expect, test } from "vitest";
import { createTestLoader } from "../../src/testing/index.ts";
import { programOf } from "../../src/client/parts/tool/program-part.ts";
import { directoryState, openHost, Page, promptOf } from "./assistant-kit.ts";

const TEXT = "Oil for 12 nights: 84 litres";

test.each([
  [true, `The program has ended: “${TEXT}” is on the board now.`],
  [false, "The program did not end well: it was not allowed. The reason given: Too dear"]
])("a program waits in its middle, over a restart; approved: %s", async (isApproved, words) => {
  const host = openHost({ LOADER: createTestLoader() } as object);
  const page = new Page(host);
  await page.settle();
  await page.ask(promptOf("Write a program"));
  expect(page.snapshot.status).toBe("parked");
  expect(page.text).toContain("somebody has to agree");
  await host.restart();
  const later = new Page(host);
  await later.settle();
  const [waiting] = later.snapshot.pendingApprovals;
  expect(waiting).toMatchObject({
    toolName: "execute",
    descriptor: { summary: "Publish this note on the board", risk: "low", input: { id: 1, text: TEXT } }
  });
  const decided = isApproved ? later.client.approve(waiting!.callId) : later.client.reject(waiting!.callId, "Too dear");
  await later.settle();
  await decided;
  await later.settle();
  expect(later.text).toContain(words);
  const { board } = await directoryState(host);
  expect(board.map(({ text }) => text)).toEqual(isApproved ? [TEXT] : []);
});

test("without a loader the answer says why there is no program", async () => {
  const page = new Page(openHost());
  await page.settle();
  await page.ask(promptOf("Write a program"));
  expect(page.text).toContain("none is bound here");
});

test("the card shows the call that is decided to its end, where the transcript has its beginning only", () => {
  const text = `${"x".repeat(5_000)} and to Eve`;
  const output = {
    status: "paused",
    executionId: "exec_1",
    pending: [{ args: { text: "x… (cut)" } }, { args: { n: 2 } }]
  };
  const part = {
    type: "tool-execute",
    toolCallId: "c1",
    state: "output-available",
    input: { code: "" },
    output
  } as const;
  expect(programOf({ ...part, approvalDescriptor: { input: { text } } }).asked).toEqual([`text: ${text}`, "n: 2"]);
  expect(programOf(part).asked).toEqual(["text: x… (cut)", "n: 2"]);
});
