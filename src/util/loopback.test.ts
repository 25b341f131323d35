import { expect, test } from "vitest";
import { isLoopback } from "./loopback.ts";

test.each(["localhost", "app.localhost", "a.b.localhost", "127.0.0.1", "127.8.9.10", "[::1]"])("%s is", (hostname) => {
  expect(isLoopback(hostname)).toBe(true);
});

test.each([
  "",
  "localhost.evil.example",
  "notlocalhost",
  ".localhost",
  "127.0.0.1.evil.example",
  "128.0.0.1",
  "0.0.0.0",
  "192.168.0.1",
  "[::2]"
])("%j is not", (hostname) => {
  expect(isLoopback(hostname)).toBe(false);
});
