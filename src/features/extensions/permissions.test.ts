// Which hosts an entry of an extension's permissions opens.
import { describe, expect, test } from "vitest";
import { isHostIn } from "../../util/address-list.ts";
import { checkPermissions } from "./permissions.ts";

describe("an entry opens the hosts it names and no other", () => {
  test.each([
    ["api.example.com", "api.example.com", true],
    ["api.example.com", "www.api.example.com", false],
    ["api.example.com", "xapi.example.com", false],
    ["example.com", "evilexample.com", false],
    ["*.example.com", "a.example.com", true],
    ["*.example.com", "a.b.example.com", true],
    ["*.example.com", "example.com", false],
    ["*.example.com", ".example.com", false],
    ["*.example.com", "evilexample.com", false],
    ["*.example.com", "a.example.com.evil.test", false],
    ["*.example.com", "a.example.org", false]
  ])("%s and %s: %s", (entry, host, isOpen) => {
    expect(isHostIn(entry, host)).toBe(isOpen);
  });
});

test("hosts are kept as URLs write them", () => {
  const { network } = checkPermissions("x", { network: ["API.Example.com", "*.CDN.Test"] });
  expect(network).toEqual(["api.example.com", "*.cdn.test"]);
  expect(isHostIn(network[0] ?? "", new URL("https://Api.EXAMPLE.com/").hostname)).toBe(true);
});

test.each([
  "*",
  "*.",
  "*.com",
  "*.*.example.com",
  "a*.example.com",
  "example",
  "1.2.3.4",
  "[::1]",
  "a.example.com.",
  "https://a.test",
  ""
])("no list of hosts has %j in it", (host) => {
  expect(() => checkPermissions("x", { network: [host] })).toThrow("may name at most");
});
