// The React hook with the real react-dom, over the in-process host: one client per agent, whatever components do. The
// components render nothing, so React needs no page.
import { createElement, StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { useThink, type UseThinkResult } from "../../src/client/react.ts";
import { Think } from "../../src/index.ts";
import { createTestHost, reply, scriptedModel, text } from "../../src/testing/index.ts";
import { Network } from "./client-kit.ts";

class Subject extends Think<unknown, { count: number }> {
  static override callables = ["add"];
  override initialState = { count: 1 };
  override getModel() {
    return scriptedModel([reply(text("Hello."))]);
  }
  add(amount: number): number {
    return this.state.count + amount;
  }
}

/** A component is shown changes once in this time. */
const FRAME_MS = 16;
const nothing = () => undefined;
const listeners = { addEventListener: nothing, removeEventListener: nothing };

beforeEach(() => {
  vi.stubGlobal("window", { ...listeners, HTMLIFrameElement: class {}, event: undefined });
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

function stage() {
  const host = createTestHost({ agents: { Subject } });
  const network = new Network(host);
  const results: UseThinkResult<Subject>[] = [];
  function Chat(props: { name: string; token?: string }): null {
    const query = { token: props.token ?? "t" };
    results.push(useThink<Subject>({ ...network.options({ query }, props.name) }));
    return null;
  }
  const page = { ...listeners, nodeType: 9, defaultView: window, activeElement: null };
  const root = createRoot({
    ...listeners,
    nodeType: 1,
    nodeName: "DIV",
    tagName: "DIV",
    namespaceURI: "http://www.w3.org/1999/xhtml",
    ownerDocument: page,
    textContent: "",
    childNodes: []
  });
  const latest = () => {
    const result = results.at(-1);
    if (result === undefined) throw new Error("Nothing was rendered.");
    return result;
  };
  const settle = async () => {
    for (let round = 0; round < 5; round += 1) {
      await network.settle();
      vi.advanceTimersByTime(FRAME_MS);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { network, root, Chat, latest, settle, renders: () => results.length };
}

test("a component shows the conversation, the state and the answers of calls", async () => {
  const { root, Chat, latest, settle } = stage();
  root.render(createElement(Chat, { name: "a" }));
  await settle();
  expect(latest()).toMatchObject({ connection: "open", status: "idle", state: { count: 1 } });
  void latest().send("Hi");
  await settle();
  expect(latest()).toMatchObject({ status: "settled", messages: [{ role: "user" }, { role: "assistant" }] });
  const sum = latest().call("add", [2]);
  await settle();
  expect(await sum).toBe(3);
  const [branches, refused] = [latest().branches(), latest().selectBranch("nobody").catch(String)];
  await settle();
  expect([await branches, await refused]).toEqual([{}, expect.stringContaining('no message "nobody"')]);
  root.unmount();
});

test("hundreds of changes within a frame are at most two renders, and the newest is shown", async () => {
  const { root, Chat, latest, settle, renders } = stage();
  root.render(createElement(Chat, { name: "fast" }));
  await settle();
  const before = renders();
  for (let count = 1; count <= 300; count += 1) latest().setState({ count });
  await settle();
  expect(renders() - before).toBeLessThanOrEqual(2);
  expect(latest().state).toEqual({ count: 300 });
  root.unmount();
});

test("two components and strict mode share one connection, and a new token does not make another", async () => {
  const { network, root, Chat, latest, settle } = stage();
  const two = (token: string) =>
    createElement(
      StrictMode,
      null,
      createElement(Chat, { name: "b", token }),
      createElement(Chat, { name: "b", token })
    );
  root.render(two("1"));
  await settle();
  root.render(two("2"));
  await settle();
  expect(network.urls).toHaveLength(1);
  await network.cut();
  await network.reconnect();
  await settle();
  expect(new URL(network.urls.at(-1) ?? "").searchParams.get("token")).toBe("2");
  expect(latest().connection).toBe("open");
  root.unmount();
});

test("another name is another client, and the last component to leave closes it", async () => {
  const { network, root, Chat, latest, settle } = stage();
  root.render(createElement(Chat, { name: "c" }));
  await settle();
  const first = latest().client;
  root.render(createElement(Chat, { name: "d" }));
  await settle();
  expect(latest().client).not.toBe(first);
  vi.advanceTimersByTime(1_000);
  expect(first.getSnapshot().connection).toBe("closed");
  expect(latest().connection).toBe("open");
  const last = latest().client;
  root.unmount();
  await settle();
  vi.advanceTimersByTime(1_000);
  expect(last.getSnapshot().connection).toBe("closed");
  expect(network.urls).toHaveLength(2);
});
