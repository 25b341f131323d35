import { describe, expect, test } from "vitest";
import { isNamed, listRefusal } from "./addresses.ts";
import { fetchSettings, type WebFetchOptions } from "./options.ts";

const refusal = (url: string, allow: readonly string[] | undefined, deny: readonly string[] = []) =>
  listRefusal(new URL(url), { allow, deny });

describe("what the lists of a class mean", () => {
  test.each([
    ["https://example.com/a", undefined, true],
    ["https://example.com/a", [], false],
    ["https://example.com/a", ["*"], true],
    ["https://example.com/a", ["example.com"], true],
    ["https://EXAMPLE.com./a", ["Example.COM"], true],
    ["http://example.com:8080/a", ["example.com"], true],
    ["https://www.example.com/", ["example.com"], false],
    ["https://www.example.com/", ["*.example.com"], true],
    ["https://example.com/", ["*.example.com"], false],
    ["https://example.com.evil.example/", ["example.com", "*.example.com"], false],
    ["https://evilexample.com/", ["*.example.com"], false],
    ["https://example.com/docs", ["https://example.com/docs"], true],
    ["https://example.com/docs/a", ["https://example.com/docs/"], true],
    ["https://example.com/docsx", ["https://example.com/docs"], false],
    ["https://example.com/docs/%2e%2e%2fadmin", ["https://example.com/docs"], false],
    ["https://example.com/docs/../admin", ["https://example.com/docs"], false],
    ["http://example.com/docs", ["https://example.com/docs"], false],
    ["https://example.com:8443/docs", ["https://example.com/docs"], false]
  ] as const)("%s with allow %j: %s", (url, allow, isAllowed) => {
    expect(refusal(url, allow) === undefined).toBe(isAllowed);
  });

  test.each([
    ["https://example.com/a", ["example.com"], false],
    ["https://example.com./a", ["example.com"], false],
    ["https://example.com.../a", ["example.com"], false],
    ["https://www.example.com/", ["example.com"], true],
    ["https://www.example.com/", ["*.example.com"], false],
    ["https://example.com/", ["*"], false],
    ["https://example.com/admin/a", ["https://example.com/admin"], false],
    ["https://example.com./admin", ["https://example.com/admin"], false],
    ["https://example.com/%61dmin%2fa", ["https://example.com/admin"], false],
    ["https://example.com//admin", ["https://example.com/admin"], false],
    ["https://example.com/x;/../admin", ["https://example.com/admin"], false],
    ["https://example.com/other", ["https://example.com/admin"], true]
  ] as const)("%s with deny %j: %s", (url, deny, isAllowed) => {
    expect(refusal(url, undefined, deny) === undefined).toBe(isAllowed);
    expect(refusal(url, ["*"], deny) === undefined).toBe(isAllowed);
  });

  test("only an address opens what is inside, and only itself", () => {
    const url = new URL("http://127.0.0.1:8080/a");
    expect(isNamed(url, { allow: ["http://127.0.0.1:8080"] })).toBe(true);
    for (const allow of [
      undefined,
      ["*"],
      ["127.0.0.1"],
      ["http://127.0.0.1"],
      ["http://127.0.0.1:8080/b"],
      ["http://localhost:8080"]
    ]) {
      expect(isNamed(url, { allow }), JSON.stringify(allow)).toBe(false);
    }
  });
});

describe("settings that cannot mean what they say are refused", () => {
  test.each<WebFetchOptions>([
    { allow: ["https://user@example.com/"] },
    { allow: ["example.com/docs"] },
    { allow: ["ftp://example.com"] },
    { deny: [""] },
    { deny: ["exa mple.com"] },
    { allow: ["https://example.com/?q"] },
    { as: "pdf" as never },
    { maxBytes: 0 },
    { maxBytes: 26 * 1024 * 1024 },
    { timeout: Infinity },
    { timeout: 1.5 },
    { redirects: -1 },
    { maxShownChars: 10 },
    { cacheMs: 1e12 },
    { headers: { Authorization: "Bearer x" } },
    { headers: { "X-Api-Key": "x" } },
    { headers: { cookie: "x" } }
  ])("%j", (options) => {
    expect(() => fetchSettings(options)).toThrow(expect.objectContaining({ code: "web-setup" }));
  });

  test("true has the defaults, and a function may give credentials", () => {
    expect(fetchSettings(true)).toMatchObject({ maxBytes: 5_242_880, timeoutMs: 20_000, redirects: 5, as: "markdown" });
    const headers = () => ({ authorization: "x" });
    expect(fetchSettings({ headers }).headers(new URL("https://example.com"))).toEqual({ authorization: "x" });
    expect(fetchSettings({ headers: { "accept-language": "de" } }).headers(new URL("https://a.example"))).toEqual({
      "accept-language": "de"
    });
  });
});
