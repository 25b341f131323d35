import { describe, expect, test } from "vitest";
import {
  ASK_AFTER_FAILURES,
  CONNECT_TIMEOUT_MS,
  DISBELIEF_MS,
  FIRST_RETRY_MS,
  MAX_RETRY_MS,
  ReconnectingSocket,
  reconnectDelayMs,
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
  emit(name: "onopen" | "onmessage" | "onclose" | "onerror", event: object = {}): void {
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

  test("is given up when it does not open in time, and what it sends later is ignored", () => {
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

/** One turn of the event loop: what was asked over HTTP has been answered. */
const later = () => new Promise((resolve) => setImmediate(resolve));

describe("a connection that does not open", () => {
  const FAILED = { code: 1006, reason: "" };

  test("is noticed at once where only an error shows it, as in Node", () => {
    const { socket, log, timers, newest } = stage();
    socket.connect();
    newest().emit("onerror", { message: "ECONNREFUSED" });
    expect(log.at(-1)).toBe("reconnecting The connection could not be opened: ECONNREFUSED");
    timers.advance(FIRST_RETRY_MS);
    expect(FakeSocket.made).toHaveLength(2);
  });

  test("counts once where a close follows the error, as in browsers", () => {
    const { socket, timers, newest } = stage();
    socket.connect();
    const first = newest();
    first.emit("onerror");
    first.emit("onclose", FAILED);
    timers.advance(FIRST_RETRY_MS);
    expect(FakeSocket.made).toHaveLength(2);
    timers.advance(FIRST_RETRY_MS);
    expect(FakeSocket.made).toHaveLength(2);
  });

  test("an error of an open connection ends nothing: its close event does", () => {
    const { socket, newest } = stage();
    socket.connect();
    newest().emit("onopen");
    newest().emit("onerror", { message: "strange" });
    expect(socket.state).toBe("open");
  });

  /** Fails as often as it takes for the server to be asked; returns how often it was asked. */
  async function failing(diagnosis: { problem: string; isFinal: boolean }) {
    let asked = 0;
    const staged = stage({
      diagnose: async () => {
        asked += 1;
        return diagnosis;
      }
    });
    staged.socket.connect();
    for (let failures = 0; failures < ASK_AFTER_FAILURES; failures += 1) {
      expect(asked).toBe(0);
      staged.newest().emit("onclose", FAILED);
      if (failures + 1 < ASK_AFTER_FAILURES) staged.timers.advance(MAX_RETRY_MS);
    }
    await later();
    return { ...staged, asked: () => asked };
  }

  test("is explained over HTTP after some attempts, and the explanation stays until there is a connection", async () => {
    const { log, timers, newest, asked } = await failing({ problem: "503 Starting", isFinal: false });
    expect(asked()).toBe(1);
    expect(log.at(-1)).toBe("reconnecting 503 Starting");
    timers.advance(MAX_RETRY_MS);
    newest().emit("onclose", FAILED);
    expect(log.at(-1)).toBe("reconnecting 503 Starting");
    timers.advance(MAX_RETRY_MS);
    newest().emit("onopen");
    expect(log.at(-2)).toBe("open");
    newest().emit("onclose", FAILED);
    expect(log.at(-2)).toBe("reconnecting The connection broke.");
  });

  test("is refused when the answer is final and one more attempt fails", async () => {
    const { log, timers, newest } = await failing({ problem: "404 Not found", isFinal: true });
    // At once: the user waits.
    expect(FakeSocket.made).toHaveLength(ASK_AFTER_FAILURES + 1);
    expect(log.at(-1)).toBe("reconnecting 404 Not found");
    newest().emit("onclose", FAILED);
    expect(log.at(-1)).toBe("refused 404 Not found");
    timers.advance(10 * MAX_RETRY_MS);
    expect(FakeSocket.made).toHaveLength(ASK_AFTER_FAILURES + 1);
  });

  test("is not refused when the server was only starting while it was asked", async () => {
    const { socket, newest, log } = await failing({ problem: "404 Not implemented", isFinal: true });
    newest().emit("onopen");
    expect(socket.state).toBe("open");
    newest().emit("onclose", FAILED);
    expect(log.at(-2)).toBe("reconnecting The connection broke.");
  });

  test("is refused later where the server had opened one before: it may be starting anew", async () => {
    const { socket, log, timers, newest } = stage({
      diagnose: async () => ({ problem: "404 Not found", isFinal: true })
    });
    socket.connect();
    newest().emit("onopen");
    newest().emit("onclose", FAILED);
    const from = timers.now();
    const refusedAfter = async (limitMs: number) => {
      while (socket.state !== "refused" && timers.now() - from < limitMs) {
        timers.advance(100);
        if (FakeSocket.made.at(-1)?.isClosing === false) newest().emit("onclose", FAILED);
        await later();
      }
      return socket.state;
    };
    expect(await refusedAfter(DISBELIEF_MS)).toBe("reconnecting");
    expect(log.at(-1)).toBe("reconnecting 404 Not found");
    expect(await refusedAfter(3 * DISBELIEF_MS)).toBe("refused");
  });

  test("is tried anew when the application asks for it, with nothing left of the refusal", async () => {
    const { socket, newest, log } = await failing({ problem: "403 Not you", isFinal: true });
    newest().emit("onclose", FAILED);
    socket.connect();
    expect(log.at(-1)).toBe("connecting");
    newest().emit("onclose", FAILED);
    expect(log.at(-1)).toBe("reconnecting The connection could not be opened.");
  });

  test("is not explained any more once it is closed", async () => {
    let answer: (diagnosis: { problem: string; isFinal: boolean }) => void = () => undefined;
    const { socket, log, timers, newest } = stage({ diagnose: () => new Promise((resolve) => (answer = resolve)) });
    socket.connect();
    newest().emit("onclose", FAILED);
    timers.advance(FIRST_RETRY_MS);
    newest().emit("onclose", FAILED);
    socket.close();
    answer({ problem: "404", isFinal: true });
    await later();
    expect(log.at(-1)).toBe("closed");
    expect(FakeSocket.made).toHaveLength(2);
  });

  test("is given up after as many attempts as the application wants", () => {
    const { socket, log, timers, newest } = stage({ maxRetries: 1 });
    socket.connect();
    newest().emit("onerror", { message: "no" });
    timers.advance(MAX_RETRY_MS);
    newest().emit("onerror", { message: "no" });
    expect(log.at(-1)).toBe("refused The connection could not be opened: no");
    timers.advance(10 * MAX_RETRY_MS);
    expect(FakeSocket.made).toHaveLength(2);
  });
});

test("a connection that lasts only a moment does not reset the pauses", () => {
  const { socket, timers, newest } = stage();
  socket.connect();
  const pauses: number[] = [];
  for (let round = 0; round < 4; round += 1) {
    newest().emit("onopen");
    timers.advance(STABLE_AFTER_MS - 1);
    const made = FakeSocket.made.length;
    newest().emit("onclose", { code: 1011, reason: "" });
    const from = timers.now();
    while (FakeSocket.made.length === made) timers.advance(10);
    pauses.push(timers.now() - from);
  }
  expect(pauses).toEqual([500, 800, 1280, 2050]);
});

test("a socket that is closing is sent nothing, whatever it does with what it is given", () => {
  const { socket, newest } = stage();
  socket.connect();
  newest().emit("onopen");
  Object.assign(newest(), { readyState: 2 });
  expect(socket.send("lost")).toBe(false);
  expect(newest().sent).toEqual([]);
});

test("pauses grow to a limit and are spread over their upper half", () => {
  expect([0, 1, 2, 20].map((failures) => reconnectDelayMs(failures, 1))).toEqual([500, 800, 1280, MAX_RETRY_MS]);
  expect(reconnectDelayMs(0, 0)).toBe(250);
});
