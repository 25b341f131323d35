// The addresses of files that events name: the provider's own hosts over https, at public addresses, or the origin that the
// class gave the messenger.
import { expect, test } from "vitest";
import { checkFileUrl } from "./provider-call.ts";

const HOSTS = /^(.+\.)?slack\.com$/;

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
