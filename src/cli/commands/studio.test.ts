import { describe, expect, test } from "vitest";
import { discoverThinkApp } from "../../framework/manifest/discover.ts";
import { CommandUsageError } from "../cli-context.ts";
import { parseCommandLine } from "../command-line.ts";
import { STUDIO } from "../table/server-commands.ts";
import { studioArguments } from "./studio.ts";

const environment = { EVERTHINK_INSPECTION_KEY: "of-the-environment" };
const nothing = discoverThinkApp({ files: [] });

function parsed(...args: string[]) {
  return studioArguments(parseCommandLine(args, STUDIO), { manifest: nothing, environment, root: "/app" });
}

test("without options it reads the agents of a dev server, and only reads", () => {
  expect(parsed()).toEqual({
    agent: undefined,
    agents: [],
    instance: undefined,
    project: { root: "/app", agents: [] },
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

test("agents of the project are offered, and one is named by its class too", () => {
  const manifest = discoverThinkApp({ files: ["agents/support.ts", "agents/sales.ts"], routePrefix: "/api" });
  const ask = (...args: string[]) =>
    studioArguments(parseCommandLine(args, STUDIO), { manifest, environment, root: "/app" });
  expect(ask()).toMatchObject({ agent: undefined, agents: ["sales", "support"], target: { prefix: "api" } });
  const project = {
    root: "/app",
    agents: ["Sales", "Support"].map((name) => expect.objectContaining({ id: name.toLowerCase() }))
  };
  expect(ask("support")).toMatchObject({ agent: "support", instance: undefined, project });
  // Another server keeps its objects elsewhere.
  for (const other of ["--url=https://app.example.com", "--host=localhost:8787"]) {
    expect(ask("support", other).project).toBeUndefined();
  }
  expect(ask("ThinkAgent_Support")).toMatchObject({ agent: "support", agents: ["sales", "support"] });
  expect(ask("Other")).toMatchObject({ agent: "other", agents: ["other", "sales", "support"] });
});

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
  test.each(cases)("%j %j", (...args) => expect(() => parsed(...args)).toThrow(CommandUsageError));
});
