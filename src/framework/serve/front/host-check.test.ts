import { expect, test } from "vitest";
import { HostLog, isKnownHost } from "./host-check.ts";

test.each([
  ["localhost", ["127.0.0.1", "localhost"], true],
  ["evil.example", ["127.0.0.1", "localhost"], false],
  ["localhost.evil.example", ["127.0.0.1", "localhost"], false],
  ["evil.app.example.com", ["app.example.com"], false],
  ["localhost", [], false],
  ["anything.example", ["*"], true]
])("%s of %j is known: %s", (hostname, known, expected) => {
  expect(isKnownHost(hostname, known)).toBe(expected);
});

test("a refused name is said once with the option that allows it, and many names do not fill the log", () => {
  const log = new HostLog();
  expect(log.line("evil.example")).toContain("--allow-host evil.example");
  expect(log.line("evil.example")).toBeUndefined();
  const lines = Array.from({ length: 100 }, (_one, index) => log.line(`${index}.example`));
  expect(lines.filter((line) => line !== undefined)).toHaveLength(19);
});
