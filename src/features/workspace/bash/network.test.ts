import { expect, test } from "vitest";
import { shellFetch } from "./network.ts";

function recorder(answers: Record<string, Response | undefined> = {}) {
  const seen: string[] = [];
  const headers: (string | null)[] = [];
  const fetcher = (async (url: string, init: RequestInit) => {
    seen.push(`${init.method} ${url}`);
    headers.push(new Headers(init.headers).get("authorization"));
    return answers[url] ?? new Response("body", { headers: { "x-test": "1" } });
  }) as typeof fetch;
  return { seen, headers, fetcher };
}

const redirect = (location: string, status = 302) => new Response(null, { status, headers: { location } });

test("no network is no function at all", () => {
  expect(shellFetch(false)).toBeUndefined();
});

test("true reaches every public address and none inside", async () => {
  const { fetcher, seen } = recorder();
  const get = shellFetch(true, fetcher)!;
  const answer = await get("https://example.com/x", { method: "post", body: "data" });
  expect(answer).toMatchObject({ status: 200, headers: { "x-test": "1" }, url: "https://example.com/x" });
  expect(new TextDecoder().decode(answer.body)).toBe("body");
  for (const url of [
    "http://127.0.0.1/",
    "http://localhost:8080/",
    "http://169.254.169.254/latest",
    "http://[::1]/",
    "ftp://example.com/",
    "http://2130706433/",
    "http://0x7f.1/",
    "http://intranet/",
    "http://printer.local/",
    "http://metadata.google.internal/",
    "http://100.100.100.200/",
    "http://198.18.0.1/",
    "http://[64:ff9b::10.0.0.1]/",
    "http://[2001::1]/",
    "http://10.0.0.1.nip.io/"
  ])
    await expect(get(url)).rejects.toThrow("Network access denied");
  expect(seen).toEqual(["POST https://example.com/x"]);
});

test("an allow-list is kept to the end of a segment, for GET and HEAD unless it says more", async () => {
  const { fetcher, seen } = recorder();
  const get = shellFetch({ allow: ["https://api.example.com/v1"] }, fetcher)!;
  await get("https://api.example.com/v1/users");
  for (const url of [
    "https://api.example.com/v10",
    "https://api.example.com/",
    "https://api.example.com.evil.org/v1",
    "http://api.example.com/v1",
    "https://api.example.com/v1/%2e%2e%2fadmin",
    "https://api.example.com/v1/../admin"
  ])
    await expect(get(url)).rejects.toThrow("not in the list");
  await expect(get("https://api.example.com/v1", { method: "DELETE" })).rejects.toThrow("DELETE is not allowed");
  await shellFetch({ allow: ["https://api.example.com"], methods: ["post"] }, fetcher)!("https://api.example.com/a", {
    method: "POST"
  });
  expect(seen).toEqual(["GET https://api.example.com/v1/users", "POST https://api.example.com/a"]);
});

test("every hop of a redirect is checked, and credentials stay with their site", async () => {
  const { fetcher, seen, headers } = recorder({
    "https://a.example.com/": redirect("http://169.254.169.254/"),
    "https://e.example.com/": redirect("https://f.example.com/"),
    "https://f.example.com/": redirect("http://db.internal/"),
    "https://b.example.com/": redirect("https://c.example.com/next"),
    "https://d.example.com/": redirect("/again"),
    "https://d.example.com/again": redirect("/again")
  });
  const get = shellFetch(true, fetcher)!;
  await expect(get("https://a.example.com/")).rejects.toThrow("an address of a private network");
  await expect(get("https://e.example.com/")).rejects.toThrow("http://db.internal: it is a name of a private network");
  const answer = await get("https://b.example.com/", { headers: { authorization: "secret" } });
  expect(answer.url).toBe("https://c.example.com/next");
  expect(headers.slice(-2)).toEqual(["secret", null]);
  await expect(get("https://d.example.com/")).rejects.toThrow("redirected more than 10 times");
  expect((await get("https://b.example.com/", { followRedirects: false })).status).toBe(302);
  expect(seen[0]).toBe("GET https://a.example.com/");
});

test("a response without end is cut off", async () => {
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new Uint8Array(1_000_000))
  });
  const { fetcher } = recorder({ "https://example.com/": new Response(endless) });
  await expect(shellFetch(true, fetcher)!("https://example.com/")).rejects.toThrow("larger than");
});
