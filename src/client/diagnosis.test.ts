import { expect, test } from "vitest";
import { diagnose, DIAGNOSIS_TIMEOUT_MS, MAX_WORDS, type DiagnosisInit } from "./diagnosis.ts";
import { ManualTimers } from "./manual-timers.test-support.ts";

const ADDRESS = "http://agents.example/agents/a/b/get-messages";

function ask(fetch: DiagnosisInit["fetch"], pageOrigin?: string, timers = new ManualTimers()) {
  return diagnose({ url: () => ADDRESS, fetch, pageOrigin, timers });
}

const answering = (body: string | null, init: ResponseInit) => async () => new Response(body, init);

test.each([
  [400, "No such class", true],
  [401, "Log in first", true],
  [403, "Pages of http://evil.example may not connect", true],
  [404, "Not found", true],
  [410, "Gone", true],
  [408, "Too slow", false],
  [429, "Too many", false],
  [500, "Oh", false],
  [503, "Starting", false]
])(
  "an answer with %i is shown in the server's words, and final only if it stays that way",
  async (status, words, isFinal) => {
    const diagnosis = await ask(answering(`  ${words}\n`, { status }));
    expect(diagnosis).toEqual({ problem: `The server refused the connection: ${status} ${words}`, isFinal });
  }
);

test("of a page, or of much text, only what fits into a line is shown", async () => {
  const page = await ask(answering("<!doctype html><h1>Lost?</h1>", { status: 404, statusText: "Not Found" }));
  expect(page.problem).toBe("The server refused the connection: 404 Not Found");
  const long = await ask(answering("x".repeat(5_000), { status: 404 }));
  expect(long.problem).toHaveLength("The server refused the connection: 404 ".length + MAX_WORDS);
});

test("a server that answers over HTTP may open a connection later", async () => {
  expect(await ask(answering("[]", { status: 200 }))).toEqual({
    problem: "The server answers over HTTP, but opens no WebSocket at this address.",
    isFinal: false
  });
});

test("a server that cannot be reached is said to be so, with the reason that Node gives", async () => {
  const cause = Object.assign(new Error("connect"), { code: "ECONNREFUSED" });
  const refused = () => Promise.reject(new TypeError("fetch failed", { cause }));
  expect(await ask(refused)).toEqual({ problem: "The server cannot be reached (ECONNREFUSED).", isFinal: false });
  const silent = () => Promise.reject(new TypeError("Failed to fetch"));
  expect(await ask(silent)).toEqual({ problem: "The server cannot be reached.", isFinal: false });
  expect(await ask(silent, "http://agents.example")).toEqual({
    problem: "The server cannot be reached.",
    isFinal: false
  });
});

test("a page of another origin learns that the server does not let it in", async () => {
  const asked: (string | undefined)[] = [];
  const hidden: DiagnosisInit["fetch"] = async (_url, init) => {
    asked.push(init?.mode);
    if (init?.mode !== "no-cors") throw new TypeError("Failed to fetch");
    return Response.error();
  };
  const { problem } = await ask(hidden, "http://evil.example");
  expect(problem).toContain("does not let pages of http://evil.example in");
  expect(asked).toEqual([undefined, "no-cors"]);
  const down = await ask(() => Promise.reject(new TypeError("Failed to fetch")), "http://evil.example");
  expect(down.problem).toBe("The server cannot be reached.");
});

test("a token that cannot be had, or a server that says nothing, does not keep the client waiting", async () => {
  const timers = new ManualTimers();
  const silent = ask(() => new Promise(() => undefined), undefined, timers);
  timers.advance(DIAGNOSIS_TIMEOUT_MS);
  expect(await silent).toEqual({ problem: "The server does not answer.", isFinal: false });
  expect(timers.size).toBe(0);
  const url = () => Promise.reject(new Error("no token"));
  const fetch = answering("", { status: 200 });
  expect(await diagnose({ url, fetch, pageOrigin: undefined, timers })).toMatchObject({ isFinal: false });
});
