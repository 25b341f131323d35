// Each provider against a server that answers as its API does: what is asked, with which key, and what becomes of the answer.
import { describe, expect, test, vi } from "vitest";
import { realTime } from "../../../host/real-time.ts";
import type { Fetch } from "../../../util/guarded-request.ts";
import { searchTool, shownResults, type SearchOutput } from "../search-tool.ts";
import { brave, exa, searxng, tavily } from "./providers.ts";
import type { WebSearch } from "./search.ts";

interface Asked {
  readonly url: URL;
  readonly method: string;
  readonly headers: Headers;
  readonly body: unknown;
}

function fake(answer: () => Response | Promise<Response>) {
  const asked: Asked[] = [];
  const fetch: Fetch = async (url, init = {}) => {
    expect(init.redirect).toBe("manual");
    const { method = "GET", headers, body } = init;
    asked.push({
      url: new URL(url),
      method,
      headers: new Headers(headers),
      body: typeof body === "string" ? JSON.parse(body) : undefined
    });
    init.signal?.throwIfAborted();
    return await answer();
  };
  return { asked, fetch };
}

async function search(
  webSearch: WebSearch,
  answer: () => Response | Promise<Response>,
  { env = {}, count }: { env?: object; count?: number } = {}
) {
  const { asked, fetch } = fake(answer);
  const tool = searchTool({ search: () => webSearch, env, clock: realTime, fetch });
  const input = { query: "green tea", ...(count !== undefined && { count }) };
  const output = (await tool.execute?.(input, { toolCallId: "c", messages: [], context: undefined })) as SearchOutput;
  return { output, asked: asked[0], all: asked };
}

const BRAVE = {
  type: "search",
  web: {
    type: "search",
    results: [
      {
        title: "Green <strong>tea</strong> &amp; health",
        url: "https://tea.example/green",
        description: "What <strong>green tea</strong> does&#x27;s &quot;well&quot;.",
        age: "2 days ago",
        profile: { name: "Tea" }
      },
      { title: "No address" },
      { title: "Second", url: "https://tea.example/2" }
    ]
  }
};

const TAVILY = {
  query: "green tea",
  answer: null,
  images: [],
  results: [{ title: "Tea", url: "https://tea.example/green", content: "Leaves.", score: 0.9, raw_content: null }],
  response_time: 1.2
};

const EXA = {
  requestId: "r",
  resolvedSearchType: "neural",
  results: [
    {
      id: "1",
      title: "Tea",
      url: "https://tea.example/green",
      publishedDate: "2026-01-02T00:00:00.000Z",
      text: "Leaves.",
      score: 0.4
    }
  ]
};

const SEARXNG = {
  query: "green tea",
  number_of_results: 0,
  results: [
    {
      url: "https://tea.example/green",
      title: "Tea",
      content: "Leaves.",
      engine: "x",
      publishedDate: "2026-01-02T00:00:00"
    }
  ],
  answers: [],
  suggestions: []
};

test("Brave", async () => {
  const { output, asked } = await search(brave({ country: "de" }), () => Response.json(BRAVE), {
    env: { BRAVE_API_KEY: "key-1" },
    count: 7
  });
  expect(asked?.url.href).toBe("https://api.search.brave.com/res/v1/web/search?q=green+tea&count=7&country=de");
  expect(asked?.headers.get("x-subscription-token")).toBe("key-1");
  expect(output).toEqual({
    query: "green tea",
    results: [
      {
        title: "Green tea & health",
        url: "https://tea.example/green",
        snippet: `What green tea does's "well".`,
        published: "2 days ago"
      },
      { title: "Second", url: "https://tea.example/2" }
    ]
  });
});

test("Tavily", async () => {
  const { output, asked } = await search(tavily({ topic: "news" }), () => Response.json(TAVILY), {
    env: { TAVILY_API_KEY: "key-2" }
  });
  expect(asked).toMatchObject({ method: "POST", body: { query: "green tea", max_results: 5, topic: "news" } });
  expect(asked?.url.href).toBe("https://api.tavily.com/search");
  expect(asked?.headers.get("authorization")).toBe("Bearer key-2");
  expect(output).toEqual({
    query: "green tea",
    results: [{ title: "Tea", url: "https://tea.example/green", snippet: "Leaves." }]
  });
});

test("Exa", async () => {
  const { output, asked } = await search(exa(), () => Response.json(EXA), { env: { EXA_API_KEY: "key-3" }, count: 2 });
  expect(asked).toMatchObject({
    method: "POST",
    body: { query: "green tea", numResults: 2, contents: { text: { maxCharacters: 500 } } }
  });
  expect(asked?.url.href).toBe("https://api.exa.ai/search");
  expect(asked?.headers.get("x-api-key")).toBe("key-3");
  expect(output).toMatchObject({
    results: [{ url: "https://tea.example/green", published: "2026-01-02T00:00:00.000Z" }]
  });
});

test("SearXNG, also inside of the operator's network and below a path", async () => {
  const { output, asked } = await search(searxng({ language: "de" }), () => Response.json(SEARXNG), {
    env: { SEARXNG_URL: "http://search.internal:8080/searx" }
  });
  expect(asked?.url.href).toBe("http://search.internal:8080/searx/search?q=green+tea&format=json&language=de");
  expect(output).toMatchObject({ results: [{ title: "Tea", snippet: "Leaves." }] });
});

const PROVIDERS: [string, WebSearch, object][] = [
  ["Brave", brave(), { BRAVE_API_KEY: "secret-key" }],
  ["Tavily", tavily(), { TAVILY_API_KEY: "secret-key" }],
  ["Exa", exa(), { EXA_API_KEY: "secret-key" }],
  ["SearXNG", searxng(), { SEARXNG_URL: "https://search.example" }]
];

describe.each(PROVIDERS)("%s", (name, webSearch, env) => {
  test("without its variable is an error that names it for the operator, and nothing is asked", async () => {
    const { asked, fetch } = fake(() => Response.json({}));
    const tool = searchTool({ search: () => webSearch, env: {}, clock: realTime, fetch });
    const called = tool.execute?.({ query: "x" }, { toolCallId: "c", messages: [], context: undefined });
    const [variable = ""] = Object.keys(env);
    await expect(called).rejects.toMatchObject({ code: "web-search-key", hint: expect.stringContaining(variable) });
    expect(asked).toEqual([]);
  });

  test.each([401, 429, 500, 302])(
    "that answers with %s is a result that names the status and not the key",
    async (status) => {
      const headers = { location: "https://evil.example/" };
      const { output, all } = await search(webSearch, () => new Response("secret-key is bad", { status, headers }), {
        env
      });
      expect(output).toEqual({ error: `The web search with ${name} failed: it answered with ${status}.` });
      expect(all).toHaveLength(1);
    }
  );

  test.each(["not json", "[]", "null", '{"results":{},"web":{"results":7}}', "{}"])(
    "that answers with %s gives no results",
    async (body) => {
      const { output } = await search(webSearch, () => new Response(body), { env });
      expect(output).toEqual(
        body.startsWith("{")
          ? { query: "green tea", results: [] }
          : { error: expect.stringContaining("not a JSON object") }
      );
    }
  );

  test("that sends for ever is cut off", async () => {
    const endless = () =>
      new Response(new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(100_000).fill(32)) }));
    expect((await search(webSearch, endless, { env })).output).toEqual({
      error: expect.stringContaining("larger than")
    });
  });
});

describe("results", () => {
  const result = (url: string, more = {}) => ({ title: "t", url, ...more });

  test("are as many as asked for, each address once, and only addresses of the web", () => {
    const given = [
      ...[
        "javascript:alert(1)",
        "file:///etc/passwd",
        "no address",
        "data:text/html,x",
        `https://a.example/${"x".repeat(3_000)}`
      ],
      ...["https://a.example/", "https://A.example", "https://b.example/", "http://c.example/", "https://d.example/"]
    ].map((url) => result(url));
    expect(shownResults(given, 3).map(({ url }) => url)).toEqual([
      "https://a.example/",
      "https://b.example/",
      "http://c.example/"
    ]);
  });

  test("are cut to their limits, between characters", () => {
    const [one] = shownResults(
      [result("https://a.example", { title: "😀".repeat(500), snippet: "<b>x</b> ".repeat(9_999) })],
      1
    );
    expect(one?.title).toMatch(/^(?:😀)+…$/u);
    expect(one?.title.length).toBeLessThanOrEqual(200);
    expect(one?.snippet?.length).toBeLessThanOrEqual(500);
    expect(one?.snippet).not.toContain("<");
  });

  test("of a function of the class are treated the same, and one that never answers is given up", async () => {
    const own: WebSearch = ({ query, count }) => [
      { title: `${query} ${count}`, url: "https://own.example", snippet: "<i>a</i>" }
    ];
    expect((await search(own, () => Response.json({}), { count: 3 })).output).toEqual({
      query: "green tea",
      results: [{ title: "green tea 3", url: "https://own.example/", snippet: "a" }]
    });
    vi.useFakeTimers();
    const waiting = search(
      () => new Promise(() => undefined),
      () => Response.json({})
    );
    await vi.advanceTimersByTimeAsync(15_000);
    vi.useRealTimers();
    expect((await waiting).output).toEqual({ error: expect.stringContaining("longer than 15000 ms") });
  });
});
