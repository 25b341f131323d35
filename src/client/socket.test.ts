import { describe, expect, test } from "vitest";
import {
  CONNECT_TIMEOUT_MS,
  FIRST_RETRY_MS,
  MAX_RETRY_MS,
  ReconnectingSocket,
  retryDelayMs,
  STABLE_AFTER_MS,
  type SocketInit
} from "./socket.ts";
import { ManualTimers } from "./manual-timers.test-support.ts";

class FakeSocket {
  static made: FakeSocket[] = [];
  onopen: ((event: never) => unknown) | null = null;
  onmessage: ((event: never) => unknown) | null = null;
  onclose: ((event: never) => unknown) | null = null;
  onerror: ((event: never) => unknown) | null = null;
  readonly sent: string[] = [];
  isClosing = false;
  constructor(readonly url: string) {
    FakeSocket.made.push(this);
  }
  send(text: string): void {
    if (this.isClosing) throw new Error("closing");
    this.sent.push(text);
  }
  close(): void {
    this.isClosing = true;
  }
  emit(name: "onopen" | "onmessage" | "onclose", event: object = {}): void {
    this[name]?.(event as never);
  }
}

function stage(init: Partial<SocketInit> = {}) {
  FakeSocket.made = [];
  const log: string[] = [];
  const timers = new ManualTimers();
  const socket = new ReconnectingSocket({
    url: () => "ws://x/",
    WebSocket: FakeSocket,
    timers,
    random: () => 1,
    maxRetries: Infinity,
    diagnose: async () => ({ problem: "unknown", isFinal: false }),
    onOpen: () => log.push("open"),
    onText: (text) => log.push(text),
    onDrop: () => log.push("drop"),
    onState: (state, reason) => log.push(reason ? `${state} ${reason}` : state),
    ...init
  });
  const newest = () => {
    const made = FakeSocket.made.at(-1);
    if (made === undefined) throw new Error("No socket was made.");
    return made;
  };
  return { socket, log, timers, newest };
}

describe("a connection", () => {
  test("comes back after a drop, each time later, and quickly again after a good one", () => {
    const { socket, log, timers, newest } = stage();
    socket.connect();
    newest().emit("onopen");
    newest().emit("onclose", { code: 1006, reason: "" });
    expect(log).toEqual(["connecting", "open", "open", "reconnecting The connection broke.", "drop"]);
    timers.advance(FIRST_RETRY_MS - 1);
    expect(FakeSocket.made).toHaveLength(1);
    timers.advance(1);
    expect(FakeSocket.made).toHaveLength(2);
    newest().emit("onclose", { code: 1006, reason: "" });
    timers.advance(FIRST_RETRY_MS);
    expect(FakeSocket.made).toHaveLength(2);
    timers.advance(FIRST_RETRY_MS);
    newest().emit("onopen");
    timers.advance(STABLE_AFTER_MS);
    newest().emit("onclose", { code: 1001, reason: "" });
    timers.advance(FIRST_RETRY_MS);
    expect(FakeSocket.made).toHaveLength(4);
  });

  test.each([1008, 4000, 4999])("refused with %i is not tried again, and says why", (code) => {
    const { socket, log, timers, newest } = stage();
    socket.connect();
    newest().emit("onopen");
    newest().emit("onclose", { code, reason: "not you" });
    timers.advance(10 * MAX_RETRY_MS);
    expect(log.at(-2)).toBe(`refused The server closed the connection: not you (${code}).`);
    expect(FakeSocket.made).toHaveLength(1);
  });

  test("D15: sending while it is not open, or closing already, says false and never throws", () => {
    const { socket, newest } = stage();
    expect(socket.send("a")).toBe(false);
    socket.connect();
    expect(socket.send("b")).toBe(false);
    newest().emit("onopen");
    expect(socket.send("c")).toBe(true);
    newest().isClosing = true;
    expect(socket.send("d")).toBe(false);
    expect(newest().sent).toEqual(["c"]);
  });

  test("is given up when it does not open in time, and what it says later is not heard", () => {
    const { socket, log, timers, newest } = stage();
    socket.connect();
    const slow = newest();
    timers.advance(CONNECT_TIMEOUT_MS);
    timers.advance(FIRST_RETRY_MS);
    expect(FakeSocket.made).toHaveLength(2);
    slow.emit("onopen");
    slow.emit("onmessage", { data: "ghost" });
    slow.emit("onclose", { code: 4001, reason: "" });
    expect(log).toEqual(["connecting", "reconnecting The server did not answer within 10 s."]);
    expect(socket.state).toBe("reconnecting");
  });

  test("closed by the application stays closed, until it is asked to connect again", () => {
    const { socket, log, timers, newest } = stage();
    socket.connect();
    newest().emit("onopen");
    socket.close();
    newest().emit("onclose", { code: 1000, reason: "" });
    timers.advance(10 * MAX_RETRY_MS);
    expect(log).toEqual(["connecting", "open", "open", "closed", "drop"]);
    socket.connect();
    expect(FakeSocket.made).toHaveLength(2);
  });

  test("whose address cannot be had is tried again", async () => {
    let asked = 0;
    const url = async () => {
      asked += 1;
      if (asked === 1) throw new Error("no token");
      return "ws://x/?token=2";
    };
    const { socket, timers, newest } = stage({ url });
    socket.connect();
    await new Promise((resolve) => setImmediate(resolve));
    expect(socket.state).toBe("reconnecting");
    timers.advance(FIRST_RETRY_MS);
    await new Promise((resolve) => setImmediate(resolve));
    expect(newest().url).toBe("ws://x/?token=2");
  });

  test("waits for no timer when the page says that the network is back", () => {
    const { socket, newest } = stage();
    socket.connect();
    newest().emit("onclose", { code: 1006, reason: "" });
    socket.retryNow();
    expect(FakeSocket.made).toHaveLength(2);
    socket.retryNow();
    expect(FakeSocket.made).toHaveLength(2);
  });
});

test("pauses grow to a limit and are spread over their upper half", () => {
  expect([0, 1, 2, 20].map((failures) => retryDelayMs(failures, 1))).toEqual([500, 800, 1280, MAX_RETRY_MS]);
  expect(retryDelayMs(0, 0)).toBe(250);
});
