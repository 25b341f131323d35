// A model that failed and is asked again: every client is shown why, when and how often, and the operator reads it. Each
// test is named after its promise.
import { afterEach, expect, test, vi } from "vitest";
import { describeRetry, type AwaitedRetry } from "../../src/client/index.ts";
import { fail, failInBand, reply, text, type Step } from "../../src/testing/index.ts";
import { later, open, ready } from "./client-subject.ts";
import { SECOND } from "../kit/time.ts";

afterEach(() => void vi.restoreAllMocks());

const limited = (seconds: number) =>
  reply(
    failInBand(new Error("Slow down, sk-abcdefgh1234."), {
      statusCode: 429,
      responseHeaders: { "retry-after": String(seconds) }
    })
  );
const down = () => reply(failInBand(new Error("Down."), { statusCode: 503 }));
const retryOf = (client: { getSnapshot(): { retry: AwaitedRetry | undefined } }) => client.getSnapshot().retry;

async function asked(...steps: Step[]) {
  const lines = vi.spyOn(console, "error").mockImplementation(() => undefined);
  const { host, network } = open(...steps);
  const client = await ready(network);
  const ended = client.send("Hi");
  await network.settle();
  return { host, network, client, ended, lines: () => lines.mock.calls.map(([line]) => String(line)) };
}

test("clients are shown which attempt comes and when, and that it is over once the model answers", async () => {
  const { host, network, client, ended } = await asked(limited(20), limited(20), reply(text("there")));
  const begun = host.now;
  expect(retryOf(client)).toEqual({ reason: "rate-limit", attempt: 2, of: 5, at: begun + 20 * SECOND });
  const sentence = describeRetry(retryOf(client) ?? expect.fail(), begun);
  expect(sentence).toBe("The provider asks to wait: next try in 20 s, attempt 2 of 5.");
  // A tab that comes later is shown it, too.
  const late = await ready(network);
  expect(retryOf(late)).toEqual(retryOf(client));
  await host.advance(20 * SECOND);
  await network.settle();
  expect(retryOf(late)).toEqual({ reason: "rate-limit", attempt: 3, of: 5, at: begun + 40 * SECOND });
  await host.advance(20 * SECOND);
  await later(host, network);
  expect(await ended).toMatchObject({ outcome: "completed" });
  expect([retryOf(client), retryOf(late)]).toEqual([undefined, undefined]);
});

test("a problem of the provider is another reason, and no word of the provider reaches a client", async () => {
  const { client } = await asked(down(), reply(text("there")));
  expect(retryOf(client)).toMatchObject({ reason: "provider", attempt: 2, of: 5 });
  expect(JSON.stringify(client.getSnapshot())).not.toContain("Down.");
});

test("the pause is shown by a process that did not begin it", async () => {
  const { host, network, client } = await asked(limited(30), reply(text("there")));
  const before = retryOf(client);
  await host.restart();
  await later(host, network);
  expect(retryOf(client)).toEqual(before);
});

test("the log has one line per pause: the agent, the pause, the attempt and the cause, without keys", async () => {
  const { host, network, ended, lines } = await asked(limited(20), limited(20), reply(text("there")));
  await host.advance(40 * SECOND);
  await later(host, network);
  await ended;
  expect(lines()).toEqual([
    expect.stringMatching(/the model is asked again in 20 s, attempt 2 of 5 \(request .+\): .*Slow down/),
    expect.stringMatching(/the model is asked again in 20 s, attempt 3 of 5 \(request .+\): as before\.$/)
  ]);
  expect(lines().join(" ")).not.toContain("sk-abcdefgh1234");
});

test("a failure that will not pass is no pause", async () => {
  const { client, ended } = await asked(fail(new Error("No such model."), { statusCode: 404, isRetryable: false }));
  expect(retryOf(client)).toBeUndefined();
  expect(await ended).toMatchObject({ outcome: "error" });
});
