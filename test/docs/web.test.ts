// The examples of docs/web.md do what the page says. Nothing leaves this machine: `fetch` is a function of the test.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  createScript,
  createTestHost,
  createTestLoader,
  reply,
  scriptedModel,
  text,
  toolCall,
  type Script
} from "everthink/testing";
import { Shopper } from "./examples/browser.ts";
import { Reader } from "./examples/browser-code.ts";
import { Librarian } from "./examples/web-options.ts";
import { Clerk } from "./examples/web-search.ts";
import { Researcher } from "./examples/web.ts";
import { user } from "../kit/messages.ts";
import { promptOf, toolNames } from "../kit/prompts.ts";

let script: Script;
let asked: { url: string; headers: Headers }[];
let answers: Record<string, () => Response>;

beforeEach(() => {
  asked = [];
  answers = {};
  vi.stubGlobal("fetch", async (url: string, init?: RequestInit) => {
    asked.push({ url, headers: new Headers(init?.headers) });
    return answers[url]?.() ?? new Response(null, { status: 404 });
  });
});
afterEach(() => void vi.unstubAllGlobals());

const html = (body: string) => new Response(body, { headers: { "content-type": "text/html" } });

class ScriptedResearcher extends Researcher {
  override getModel(): never {
    return scriptedModel(script) as never;
  }
}

class ScriptedLibrarian extends Librarian {
  override getModel() {
    return scriptedModel(script);
  }
}

class ScriptedClerk extends Clerk {
  override getModel() {
    return scriptedModel(script);
  }
}

test("the researcher searches with the key of the environment, and reads what it finds", async () => {
  const url = "https://tea.example/green";
  answers["https://api.search.brave.com/res/v1/web/search?q=green+tea&count=5"] = () =>
    Response.json({ web: { results: [{ title: "Tea", url, description: "Leaves." }] } });
  answers[url] = () => html("<h1>Green</h1>");
  script = createScript([
    reply(toolCall("web_search", { query: "green tea" })),
    reply(toolCall("fetch_url", { url })),
    reply(text("It is green."))
  ]);
  const host = createTestHost({ agents: { ScriptedResearcher }, env: { BRAVE_API_KEY: "key" } });
  await (await host.get(ScriptedResearcher, "a")).saveMessages([user("What is green tea?")]);
  expect(toolNames(script.calls[0])).toEqual(expect.arrayContaining(["fetch_url", "web_search"]));
  expect(asked[0]?.headers.get("x-subscription-token")).toBe("key");
  expect(promptOf(script.calls[1])).toContain("https://tea.example/green");
  expect(promptOf(script.calls[2])).toContain("# Green");
});

test("the librarian reads what its lists allow, with the token for one origin and robots.txt first", async () => {
  answers["https://docs.example.com/a"] = () => html("<p>Read <a href='/b'>on</a>.");
  answers["https://wiki.example.org/public/a"] = () => html("<p>wiki");
  const urls = [
    ...["https://docs.example.com/a", "https://wiki.example.org/public/a"],
    ...["https://old.example.com/", "https://wiki.example.org/private", "https://other.example/"]
  ];
  script = createScript([
    reply(...urls.map((url, id) => toolCall("fetch_url", { url }, { id: `c${id}` }))),
    reply(text("done"))
  ]);
  const host = createTestHost({ agents: { ScriptedLibrarian }, env: { DOCS_TOKEN: "token" } });
  await (await host.get(ScriptedLibrarian, "a")).saveMessages([user("go")]);
  expect(new Set(asked.map(({ url }) => url))).toEqual(
    new Set([
      ...["https://docs.example.com/robots.txt", "https://docs.example.com/a"],
      ...["https://wiki.example.org/robots.txt", "https://wiki.example.org/public/a"]
    ])
  );
  const sent = asked.filter(({ headers }) => headers.get("authorization") === "Bearer token").map(({ url }) => url);
  expect(sent).toEqual(["https://docs.example.com/a"]);
  expect(promptOf(script.calls[1])).toContain("Read on.");
});

test("the clerk searches a catalogue of its own", async () => {
  const CATALOGUE = {
    fetch: async (url: string) => {
      asked.push({ url, headers: new Headers() });
      return Response.json([{ name: "Pot", link: "https://shop.example/pot" }]);
    }
  };
  script = createScript([reply(toolCall("web_search", { query: "pot & lid", count: 2 })), reply(text("done"))]);
  const host = createTestHost({ agents: { ScriptedClerk }, env: { CATALOGUE } });
  await (await host.get(ScriptedClerk, "a")).saveMessages([user("go")]);
  expect(asked.map(({ url }) => url)).toEqual(["https://catalogue/search?q=pot%20%26%20lid&limit=2"]);
  expect(promptOf(script.calls[1])).toContain("https://shop.example/pot");
  expect(toolNames(script.calls[0])).not.toContain("fetch_url");
});

test("a class with a browser has its tools, and a browser that has no binding is the failure of a call", async () => {
  class ScriptedShopper extends Shopper {
    override getModel(): never {
      return scriptedModel(script) as never;
    }
  }
  script = createScript([reply(toolCall("browser_open", { url: "https://example.com/" })), reply(text("no"))]);
  const host = createTestHost({ agents: { ScriptedShopper } });
  await (await host.get(ScriptedShopper, "a")).saveMessages([user("go")]);
  const names = ["open", "read", "click", "type", "screenshot", "send"].map((name) => `browser_${name}`);
  expect(toolNames(script.calls[0])).toEqual(expect.arrayContaining(names));
  expect(promptOf(script.calls[1])).toContain("The browser has no binding.");
});

test("with tools: false only code has the browser", async () => {
  class ScriptedReader extends Reader {
    override getModel(): never {
      return scriptedModel(script) as never;
    }
  }
  script = createScript([reply(text("ok"))]);
  const host = createTestHost({ agents: { ScriptedReader }, env: { LOADER: createTestLoader() } });
  await (await host.get(ScriptedReader, "a")).saveMessages([user("go")]);
  expect(toolNames(script.calls[0]).filter((name) => name.startsWith("browser_"))).toEqual([]);
  expect(JSON.stringify(script.calls[0]?.tools)).toContain("browser.send");
});
