import { describe, expect, test } from "vitest";
import { plugAnswer } from "./plug.ts";

const URL_HERE = "http://127.0.0.1:8787/__think/plug";
const HOSTS = ["127.0.0.1", "localhost", "[::1]"];
const answer = (method: string, headers: Record<string, string> = {}, url = URL_HERE) =>
  plugAnswer({ method, url, headers: new Headers(headers) }, HOSTS);

describe("the plug", () => {
  test.each([
    ["a page of this server", { origin: "http://127.0.0.1:8787", "sec-fetch-site": "same-origin" }, URL_HERE],
    ["a browser that does not send Sec-Fetch-Site", { origin: "http://127.0.0.1:8787" }, URL_HERE],
    ["a page opened as localhost", { origin: "http://localhost:8787" }, URL_HERE.replace("127.0.0.1", "localhost")],
    ["a page opened as ::1", { origin: "http://[::1]:8787" }, URL_HERE.replace("127.0.0.1", "[::1]")]
  ])("is pulled by %s", (_who, headers, url) => {
    expect(answer("POST", headers, url)).toBe("pull");
  });

  test.each([
    ["no request that does not say where it comes from", {}, URL_HERE],
    ["a page of another site", { origin: "https://example.com", "sec-fetch-site": "cross-site" }, URL_HERE],
    ["a page of another site in an older browser", { origin: "https://example.com" }, URL_HERE],
    ["a page that hides its site", { origin: "null" }, URL_HERE],
    ["a page of another port", { origin: "http://127.0.0.1:3000", "sec-fetch-site": "same-site" }, URL_HERE],
    ["a page of another name of this machine", { origin: "http://localhost:8787" }, URL_HERE],
    [
      "a page that claims an origin its browser denies",
      { origin: "http://127.0.0.1:8787", "sec-fetch-site": "cross-site" },
      URL_HERE
    ],
    [
      "a page whose name was pointed at this machine",
      { origin: "http://evil.example:8787", "sec-fetch-site": "same-origin" },
      URL_HERE.replace("127.0.0.1", "evil.example")
    ]
  ])("is not pulled by %s", (_who, headers, url) => {
    expect(answer("POST", headers, url)).toBe("refuse");
  });

  test.each([
    ["GET", URL_HERE, "tell"],
    ["HEAD", URL_HERE, "tell"],
    ["GET", URL_HERE.replace("127.0.0.1", "app.example.com"), "refuse"],
    ["DELETE", URL_HERE, "wrong-method"],
    ["OPTIONS", URL_HERE, "wrong-method"]
  ])("answers %s %s with: %s", (method, url, expected) => {
    expect(answer(method, {}, url)).toBe(expected);
  });
});
