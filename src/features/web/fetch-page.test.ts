// Pages of a real server on this machine: what is asked, and that no answer takes more time or memory than the class says.
import { afterEach, describe, expect, test } from "vitest";
import { realTime } from "../../host/real-time.ts";
import { fetchSettings, type WebFetchOptions } from "./options.ts";
import { PageFetcher } from "./fetch-page.ts";
import {
  bomb,
  endless,
  redirectTo,
  send,
  serveWeb,
  silent,
  stalled,
  type Page,
  type WebServer
} from "./web-server.test-support.ts";

const open: WebServer[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

async function serve(pages: Readonly<Record<string, Page>>): Promise<WebServer> {
  const server = await serveWeb(pages);
  open.push(server);
  return server;
}

function fetcher(options: WebFetchOptions, now = () => 0) {
  const asked = new PageFetcher(fetchSettings(options), { clock: { ...realTime, now }, fetch: globalThis.fetch });
  return async (url: string, signal?: AbortSignal) => {
    const { bytes, ...page } = await asked.fetch(new URL(url), signal);
    return { ...page, text: new TextDecoder().decode(bytes) };
  };
}

const failsWith = (reason: string) =>
  expect.objectContaining({ code: "web-fetch-failed", message: expect.stringContaining(reason) });

test("a page of an address that the class names is fetched, with what says who asks", async () => {
  const { origin, headers } = await serve({ "/a": send("<p>hello") });
  const page = await fetcher({ allow: [origin], headers: { "accept-language": "de" } })(`${origin}/a`);
  expect(page).toMatchObject({ text: "<p>hello", contentType: "text/html; charset=utf-8" });
  expect(headers[0]).toMatchObject({ "user-agent": "everthink", "accept-language": "de" });
  expect(headers[0]).not.toHaveProperty("cookie");
});

test("an address of this machine that the class does not name is never asked", async () => {
  const { origin, asked } = await serve({ "/a": send("secret") });
  const { port } = new URL(origin);
  for (const allow of [undefined, ["*"], ["127.0.0.1"], ["http://127.0.0.1:1"], [`${origin}/b`]]) {
    await expect(fetcher({ allow })(`${origin}/a`), String(allow)).rejects.toEqual(failsWith("could not be fetched"));
  }
  for (const host of ["localhost", "[::ffff:127.0.0.1]", "127.0.0.1.nip.io", "2130706434", "127.0.0.1.localtest.me"]) {
    await expect(fetcher({ allow: [origin] })(`http://${host}:${port}/a`), host).rejects.toEqual(failsWith("machine"));
  }
  expect(asked).toEqual([]);
});

test("a public name that stands for an address from inside is refused where the class can tell, also after a redirect", async () => {
  const resolve = async (name: string) =>
    name === "public.example" ? ["93.184.216.34"] : ["93.184.216.34", "10.0.0.1"];
  const asked: string[] = [];
  const fetch = async (url: string | URL) => {
    asked.push(String(url));
    return new Response(null, { status: 302, headers: { location: "https://rebound.example/" } });
  };
  const clock = { ...realTime, now: () => 0 };
  const pages = new PageFetcher(fetchSettings({ resolve }), { clock, fetch });
  for (const host of ["rebound.example", "public.example"]) {
    await expect(pages.fetch(new URL(`https://${host}/`), undefined), host).rejects.toEqual(
      failsWith("its name stands for 10.0.0.1: it is an address of a private network")
    );
  }
  expect(asked).toEqual(["https://public.example/"]);
});

describe("redirects", () => {
  test("are followed to what the class names, and to nothing else", async () => {
    const inside = await serve({ "/secret": send("secret") });
    const { origin, asked } = await serve({
      "/a": redirectTo("/b"),
      "/b": send("there"),
      "/inside": redirectTo(`${inside.origin}/secret`),
      "/metadata": redirectTo("http://169.254.169.254/latest/meta-data"),
      "/file": redirectTo("file:///etc/passwd"),
      "/loop": redirectTo("/loop")
    });
    const get = fetcher({ allow: [origin] });
    expect(await get(`${origin}/a`)).toMatchObject({ text: "there", url: new URL(`${origin}/b`) });
    await expect(get(`${origin}/inside`)).rejects.toEqual(failsWith("own machine"));
    await expect(get(`${origin}/metadata`)).rejects.toEqual(failsWith("private network"));
    await expect(get(`${origin}/file`)).rejects.toEqual(failsWith("neither http nor https"));
    await expect(get(`${origin}/loop`)).rejects.toEqual(failsWith("more than 5 times"));
    expect(inside.asked).toEqual([]);
    expect(asked.filter((one) => one === "GET /loop")).toHaveLength(6);
  });

  test("are left to the model where the class says so", async () => {
    const { origin, asked } = await serve({ "/a": redirectTo("/b"), "/b": send("there") });
    await expect(fetcher({ allow: [origin], redirects: 0 })(`${origin}/a`)).rejects.toEqual(
      failsWith(`it redirects to ${origin}/b, which is not followed`)
    );
    expect(asked).toEqual(["GET /a"]);
  });

  test("take credentials to no other origin", async () => {
    const other = await serve({ "/b": send("there") });
    const { origin, headers } = await serve({ "/a": redirectTo("/again"), "/again": redirectTo(`${other.origin}/b`) });
    const get = fetcher({
      allow: [origin, other.origin],
      headers: (url) =>
        url.origin === origin ? { authorization: "Bearer x", "x-own": "1", "accept-language": "de" } : {}
    });
    expect(await get(`${origin}/a`)).toMatchObject({ text: "there" });
    expect(headers.map((one) => one.authorization)).toEqual(["Bearer x", "Bearer x"]);
    expect(other.headers[0]).toMatchObject({ "accept-language": "de" });
    expect(Object.keys(other.headers[0] ?? {})).not.toEqual(expect.arrayContaining(["authorization"]));
    expect(Object.keys(other.headers[0] ?? {})).not.toEqual(expect.arrayContaining(["x-own"]));
  });
});

describe("bodies made to harm", () => {
  const announced: Page = (_request, response) => {
    response.writeHead(200, { "content-type": "text/plain", "content-length": "200000" }).flushHeaders();
  };
  const limits = { maxBytes: 100_000, timeout: 400 };

  test.each([
    ["one that never ends", endless, "larger than 100000 bytes"],
    ["one that is too large", send("x".repeat(200_000)), "larger than 100000 bytes"],
    ["one that says that it is too large, before a byte of it", announced, "larger than 100000 bytes"],
    ["a small one that unpacks to a large one", bomb(), "larger than 100000 bytes"],
    ["one that stops in the middle", stalled, "longer than 400 ms"],
    ["a server that never answers", silent, "longer than 400 ms"]
  ])("%s is given up", async (_what, page, reason) => {
    const { origin } = await serve({ "/a": page });
    const started = performance.now();
    const before = process.memoryUsage().arrayBuffers;
    await expect(fetcher({ allow: [origin], ...limits })(`${origin}/a`)).rejects.toEqual(failsWith(reason));
    expect(performance.now() - started).toBeLessThan(10_000);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(200_000_000);
  });

  test("one that comes byte by byte, and redirects that each take their time, share one limit", async () => {
    const drip: Page = (_request, response) => {
      response.writeHead(200, { "content-type": "text/plain" });
      const timer = setInterval(() => response.write("x"), 20);
      response.on("close", () => clearInterval(timer));
    };
    const slow: Page = (_request, response) =>
      void setTimeout(() => response.writeHead(302, { location: "/slow" }).end(), 150);
    const { origin } = await serve({ "/drip": drip, "/slow": slow });
    for (const path of ["/drip", "/slow"]) {
      await expect(fetcher({ allow: [origin], ...limits })(origin + path), path).rejects.toEqual(
        failsWith("longer than 400 ms")
      );
    }
  });

  test("a stopped turn ends the request at once, with its own reason", async () => {
    const { origin } = await serve({ "/a": stalled });
    const turn = new AbortController();
    const asked = fetcher({ allow: [origin] })(`${origin}/a`, turn.signal);
    turn.abort(new Error("stopped by the user"));
    await expect(asked).rejects.toThrow("stopped by the user");
  });

  test("a server that hangs up, and an answer that is no success, are failures with a reason", async () => {
    const { origin } = await serve({ "/hang": (request) => request.socket.destroy() });
    const get = fetcher({ allow: [origin] });
    await expect(get(`${origin}/hang`)).rejects.toEqual(failsWith("could not be fetched"));
    await expect(get(`${origin}/none`)).rejects.toEqual(failsWith("answered with 404"));
  });
});

describe("robots.txt, for a class that asks for it", () => {
  test("is read once an hour for an origin, and holds for redirects", async () => {
    let time = 0;
    const { origin, asked } = await serve({
      "/robots.txt": send("User-agent: *\nDisallow: /private", "text/plain"),
      "/a": send("a"),
      "/to": redirectTo("/private/b"),
      "/private/b": send("b")
    });
    const get = fetcher({ allow: [origin], robots: true }, () => time);
    expect(await get(`${origin}/a`)).toMatchObject({ text: "a" });
    await expect(get(`${origin}/private/b`)).rejects.toEqual(failsWith("its robots.txt refuses it"));
    await expect(get(`${origin}/to`)).rejects.toEqual(failsWith("its robots.txt refuses it"));
    expect(asked).toEqual(["GET /robots.txt", "GET /a", "GET /to"]);
    time = 61 * 60 * 1_000;
    await get(`${origin}/a`);
    expect(asked.slice(3)).toEqual(["GET /robots.txt", "GET /a"]);
  });

  test("is not asked for otherwise; one that is missing allows everything, and one that fails nothing", async () => {
    const fails: Page = (_request, response) => response.writeHead(503).end();
    const { origin, asked } = await serve({ "/a": send("a") });
    await fetcher({ allow: [origin] })(`${origin}/a`);
    expect(asked).toEqual(["GET /a"]);
    expect(await fetcher({ allow: [origin], robots: "mine" })(`${origin}/a`)).toMatchObject({ text: "a" });
    const down = await serve({ "/a": send("a"), "/robots.txt": fails });
    await expect(fetcher({ allow: [down.origin], robots: true })(`${down.origin}/a`)).rejects.toEqual(
      failsWith("robots.txt")
    );
    expect(down.asked).toEqual(["GET /robots.txt"]);
  });

  test("is asked for also where the class names only a part of the origin", async () => {
    const { origin, asked } = await serve({
      "/docs/a": send("a"),
      "/robots.txt": send("User-agent: *\nDisallow: /docs/b", "text/plain")
    });
    const get = fetcher({ allow: [`${origin}/docs`], robots: true });
    expect(await get(`${origin}/docs/a`)).toMatchObject({ text: "a" });
    await expect(get(`${origin}/docs/b`)).rejects.toEqual(failsWith("its robots.txt refuses it"));
    await expect(get(`${origin}/robots.txt`)).rejects.toEqual(failsWith("own machine"));
    expect(asked).toEqual(["GET /robots.txt", "GET /docs/a"]);
  });

  test("is found at the address of the class only", async () => {
    const inside = await serve({ "/robots.txt": send("User-agent: *\nAllow: /", "text/plain") });
    const { origin } = await serve({ "/robots.txt": redirectTo(`${inside.origin}/robots.txt`), "/a": send("a") });
    await expect(fetcher({ allow: [origin], robots: true })(`${origin}/a`)).rejects.toEqual(failsWith("robots.txt"));
    expect(inside.asked).toEqual([]);
  });
});
