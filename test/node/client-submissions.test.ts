// A client submits work that goes on without it, and sees how all submissions stand, also after a reload.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Think } from "../../src/index.ts";
import {
  createGate,
  createScript,
  createTestHost,
  reply,
  scriptedModel,
  text,
  type Script
} from "../../src/testing/index.ts";
import { Network } from "./client-kit.ts";
import { user } from "../kit/messages.ts";

let script: Script;

class Subject extends Think {
  static override callables = [...(Think.callables as string[]), "submitMessages"];
  override getModel() {
    return scriptedModel(script);
  }
}

beforeEach(() => void vi.spyOn(console, "error").mockImplementation(() => undefined));
afterEach(() => void vi.restoreAllMocks());

function open(isListed = true) {
  class Unlisted extends Think {
    override getModel() {
      return scriptedModel(script);
    }
  }
  const host = createTestHost({ agents: { Subject: isListed ? Subject : Unlisted } });
  return { host, network: new Network(host) };
}

test("a submission is accepted, followed to its end, and still shown by a client that comes later", async () => {
  const gate = createGate();
  script = createScript([reply(gate.wait(), text("Done."))]);
  const { network } = open();
  const client = network.client<Subject>();
  await network.settle();
  const accepted = client.submit("In the background, please.");
  await network.settle();
  expect(await accepted).toMatchObject({ accepted: true, status: "pending" });
  const { submissionId } = await accepted;
  const statusIn = (one: typeof client) =>
    one.getSnapshot().submissions.map((submission) => [submission.submissionId, submission.status]);
  expect(statusIn(client)).toEqual([[submissionId, "running"]]);
  client.close();
  gate.open();
  await network.settle();
  const later = network.client<Subject>();
  await network.settle();
  expect(statusIn(later)).toEqual([[submissionId, "completed"]]);
  expect(later.getSnapshot().submissions[0]).not.toHaveProperty("metadata");
  expect(later.getSnapshot().messages.at(-1)?.role).toBe("assistant");
});

test("sent again after its connection was lost, it is one submission", async () => {
  script = createScript(() => reply(text("Done.")));
  const { network } = open();
  const client = network.client<Subject>();
  await network.settle();
  network.losesFrames = true;
  const accepted = client.submit("once");
  await network.settle();
  network.losesFrames = false;
  await network.cut();
  await network.reconnect();
  await accepted;
  expect(client.getSnapshot().submissions).toHaveLength(1);
  expect(script.callCount).toBe(1);
});

test("a class that does not list it takes no submissions from clients, though another class does", async () => {
  script = createScript([]);
  await (await open().host.get(Subject, "a")).listSubmissions();
  const { network } = open(false);
  const client = network.client();
  await network.settle();
  const call = client.submit("x");
  call.catch(() => undefined);
  await network.settle();
  await expect(call).rejects.toThrow(/callable|not/i);
  expect(client.getSnapshot().submissions).toEqual([]);
});

test("a client cannot give metadata that is the package's own", async () => {
  script = createScript(() => reply(text("plain")));
  const { host, network } = open();
  const client = network.client();
  await network.settle();
  const message = user("u", "x");
  const metadata = { __thinkWorkflowPrompt: { workflow: {}, output: { schema: {} } }, mine: 1 };
  const call = client.call("submitMessages", [[message], { metadata }]);
  await network.settle();
  await call;
  const [submission] = await (await host.get(Subject, "a")).listSubmissions();
  expect(submission?.metadata).toEqual({ mine: 1 });
});
