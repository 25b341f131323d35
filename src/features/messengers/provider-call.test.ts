import { afterEach, describe, expect, test, vi } from "vitest";
import { checkFileUrl, fetchFile } from "./provider-call.ts";

afterEach(() => {
  vi.unstubAllGlobals();
});

const HOSTS = /^(.+\.)?slack\.com$/;

describe("a file's address", () => {
  test.each(["https://slack.com/a", "https://files.slack.com/a?b", "https://api.test/files/1"])("%s is read", (url) => {
    expect(checkFileUrl(url, HOSTS, "https://api.test/api")).toBe(url);
  });

  test.each([
    "https://evil.example/a",
    "https://evilslack.com/a",
    "https://slack.com.evil.example/a",
    "https://files.slack.com@evil.example/a",
    "https://evil.example/https://files.slack.com/a",
    "https://evil.example\\@slack.com/a",
    "http://files.slack.com/a",
    "http://api.test/files/1",
    "https://api.test:8443/files/1",
    "http://169.254.169.254/latest",
    "file:///etc/passwd",
    "data:text/plain,a",
    "nowhere",
    ""
  ])("%j is refused: the token would go there", (url) => {
    expect(() => checkFileUrl(url, HOSTS, "https://api.test/api")).toThrow("it is not at the provider");
  });
});

describe("an address that an event names", () => {
  test.each(["https://files.slack.com/a", "https://slack.com/a", "http://localhost:9000/a"])("%s is read", (url) => {
    expect(checkFileUrl(url, HOSTS, "http://localhost:9000")).toBe(url);
  });

  test.each([
    "http://files.slack.com/a",
    "https://evilslack.com/a",
    "https://files.slack.com.evil.example/a",
    "https://files.slack.com@evil.example/a",
    "https://10.0.0.1/a",
    "https://localhost/a",
    "https://localhost:9000/a",
    "https://10-0-0-1.slack.com/a",
    "file:///etc/passwd",
    "nothing"
  ])("%s is not", (url) => {
    expect(() => checkFileUrl(url, HOSTS, "http://localhost:9000")).toThrow("it is not at the provider");
  });
});

const MEGABYTE = new Uint8Array(1_000_000);

/** Answers how many of its megabytes were read, and whether the rest was given up. */
function served(megabytes: number): { read: number; isCancelled: boolean; inits: (RequestInit | undefined)[] } {
  const seen = { read: 0, isCancelled: false, inits: [] as (RequestInit | undefined)[] };
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      if (seen.read === megabytes) return controller.close();
      seen.read += 1;
      controller.enqueue(MEGABYTE);
    },
    cancel: () => void (seen.isCancelled = true)
  });
  vi.stubGlobal("fetch", async (_url: string, init?: RequestInit) => {
    seen.inits.push(init);
    return new Response(body);
  });
  return seen;
}

test("a file of 25 MB is read; of a larger one no more than that is", async () => {
  served(25);
  expect((await fetchFile("https://files.slack.com/a", {})).byteLength).toBe(25_000_000);
  const seen = served(40);
  const size = fetchFile("https://files.slack.com/a", {}).then(({ byteLength }) => byteLength);
  await expect(size).rejects.toThrow("it is too large");
  expect([seen.read <= 28, seen.isCancelled]).toEqual([true, true]);
});

test("a file's redirect is not followed, and the request has an end", async () => {
  const seen = served(1);
  await fetchFile("https://files.slack.com/a", { Authorization: "Bearer t" });
  expect(seen.inits).toEqual([
    { headers: { Authorization: "Bearer t" }, redirect: "manual", signal: expect.any(AbortSignal) }
  ]);
});
