import { describe, expect, test } from "vitest";
import { UsageError } from "../serve/errors.ts";
import { parseStudioArguments } from "./studio-arguments.ts";

function parsed(...args: string[]) {
  const options = parseStudioArguments(args, { EVERTHINK_INSPECTION_KEY: "of-the-environment" });
  if (options === "help") throw new Error("help");
  return options;
}

test("without options it reads the agents of a dev server, and only reads", () => {
  expect(parsed()).toEqual({
    agent: undefined,
    instance: "default",
    port: 4321,
    canWrite: false,
    target: { origin: "http://localhost:5173", prefix: "agents", token: "of-the-environment", query: {} }
  });
});

test("a class name becomes its path segment", () => {
  expect(parsed("MyAssistant", "user/42")).toMatchObject({ agent: "my-assistant", instance: "user/42" });
});

const origins: [args: string[], origin: string][] = [
  [["--url", "https://app.example.com/x"], "https://app.example.com"],
  [["--url", "wss://app.example.com"], "https://app.example.com"],
  [["--host", "app.example.com:8443", "--protocol", "wss"], "https://app.example.com:8443"],
  [["--host", "127.0.0.1:8787"], "http://127.0.0.1:8787"]
];
test.each(origins)("%j is %s", (args, origin) => expect(parsed(...args).target.origin).toBe(origin));

test("tokens, queries, prefix and --write are taken as given", () => {
  const options = parsed(
    "--token",
    "t",
    "--query",
    "a=1=2",
    "--query",
    "b=",
    "--route-prefix",
    "/api/agents/",
    "--write"
  );
  expect(options).toMatchObject({
    canWrite: true,
    target: { token: "t", query: { a: "1=2", b: "" }, prefix: "api/agents" }
  });
});

describe("what is wrong is said", () => {
  const cases = [
    ["a", "b", "c"],
    ["--query", "x"],
    ["--port", "70000"],
    ["--protocol", "http"],
    ["--url", "nowhere"],
    ["--nope"]
  ];
  test.each(cases)("%j %j", (...args) => expect(() => parsed(...args)).toThrow(UsageError));
});
