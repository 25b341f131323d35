import { describe, expect, test } from "vitest";
import { assertHop, normalizeUrl, parseServerUrl } from "./url-guard.ts";

const REFUSED = [
  "not a url",
  "ftp://example.com/",
  "file:///etc/passwd",
  "http://0.0.0.0/",
  "http://0.1.2.3/",
  "http://10.0.0.1/mcp",
  "http://172.16.0.1/",
  "http://172.31.255.255/",
  "http://192.168.1.1/",
  "http://169.254.169.254/latest/meta-data",
  "http://169.254.169.254./",
  "http://2852039166/",
  "http://0xa9.0xfe.0xa9.0xfe/",
  "http://0251.0376.0251.0376/",
  "http://10.1/",
  "http://[::]/",
  "http://[fc00::1]/",
  "http://[fdff:1::]/",
  "http://[fe80::1]/",
  "http://[::ffff:a00:1]/",
  "http://[::ffff:10.0.0.1]/",
  "http://[::ffff:a9fe:a9fe]/",
  "http://[::10.0.0.1]/",
  "http://[64:ff9b::10.0.0.1]/",
  "http://[2002:a00:1::]/",
  "http://metadata.google.internal/",
  "http://METADATA.google.internal./computeMetadata/v1/",
  "http://100.100.100.200/",
  "http://10.0.0.1.nip.io/",
  "http://app.169.254.169.254.nip.io/",
  "http://ip-10-0-0-1.ec2.internal/",
  "http://a.192-168-0-1.sslip.io/",
  "http://0a000001.nip.io/",
  "http://app-c0a80001.nip.io/",
  "http://0a000001.8.8.8.8.nip.io/",
  "http://fe80--1.sslip.io/",
  "http://fd00-1-2-3-4-5-6-7.sslip.io/",
  "http://[fec0::1]/",
  "http://[::ffff:0:10.0.0.1]/",
  "http://metadata.google.internal../",
  "https://user:secret@example.com/mcp"
];

const ALLOWED = [
  "http://localhost:8787/",
  "http://localhost:8787/mcp",
  "http://127.0.0.1:3000/",
  "http://[::1]:3000/",
  "https://example.com/mcp",
  "https://172.32.0.1/",
  "https://11.0.0.1/",
  "https://8.8.8.8/",
  "https://[2606:4700::1111]/",
  "https://[::ffff:8.8.8.8]/",
  "https://8.8.8.8.nip.io/",
  "https://app-8-8-8-8.sslip.io/",
  "https://0a000001.example.com/",
  "https://v1.10.0.example.com/",
  "https://mcp-10-2-3.example.com/",
  "https://release-2024-10-0-0-1x.example.com/"
];

describe("addresses of MCP servers", () => {
  test.each(REFUSED)("%s is refused", (url) => {
    expect(() => parseServerUrl(url)).toThrow(/^Blocked URL/);
  });

  test.each(ALLOWED)("%s is allowed", (url) => {
    expect(parseServerUrl(url).href).toBe(new URL(url).href);
  });

  test("a server at a public address cannot lead the agent to services of its own machine", () => {
    const server = new URL("https://mcp.example.com/");
    for (const target of [
      "http://localhost:9000/admin",
      "http://127.0.0.1/",
      "http://[::1]/",
      "http://[::ffff:7f00:1]/",
      "http://[::ffff:127.0.0.1]/",
      "http://[::127.0.0.1]/",
      "http://localhost./",
      "http://localhost../",
      "http://LOCALHOST/",
      "http://0x7f.1/",
      "http://127.1/",
      "http://2130706433/",
      "http://017700000001/",
      "http://127.0.0.1.nip.io/",
      "http://app.localhost./"
    ]) {
      expect(() => assertHop(new URL(target), server), target).toThrow(/own machine/);
    }
    expect(() => assertHop(new URL("http://10.0.0.1/"), server)).toThrow(/private network/);
    expect(() => assertHop(new URL("https://login.example.org/token"), server)).not.toThrow();
  });

  test("a server on the agent's own machine may use other ports of it", () => {
    expect(() => assertHop(new URL("http://127.0.0.1:9000/token"), new URL("http://localhost:8787/mcp"))).not.toThrow();
  });

  test("two spellings of one address are one server", () => {
    const same = ["https://Example.com/mcp", "https://example.com:443/mcp/", "https://example.com./mcp"];
    expect(new Set(same.map((url) => normalizeUrl(new URL(url)))).size).toBe(1);
    const other = ["https://example.com/other", "http://example.com/mcp", "https://example.com/mcp?tenant=2"];
    expect(new Set([...same, ...other].map((url) => normalizeUrl(new URL(url)))).size).toBe(4);
  });
});
