import { describe, expect, test } from "vitest";
import { assertHop, normalizeUrl, parseServerUrl } from "./url-guard.ts";

const REFUSED = [
  "not a url",
  "ftp://example.com/",
  "file:///etc/passwd",
  "http://10.0.0.1/mcp",
  "http://100.64.0.1/",
  "http://198.18.0.1/",
  "http://192.0.0.192/",
  "http://224.0.0.1/",
  "http://255.255.255.255/",
  "http://169.254.169.254/latest/meta-data",
  "http://[2001::1]/",
  "http://[::ffff:a00:1]/",
  "http://mcp:8080/mcp",
  "http://db.internal/",
  "http://printer.local./",
  "http://10.0.0.1.nip.io/",
  "https://user:secret@example.com/mcp"
];

const ALLOWED = [
  "http://localhost:8787/",
  "http://localhost:8787/mcp",
  "http://127.0.0.1:3000/",
  "http://[::1]:3000/",
  "https://example.com/mcp",
  "https://8.8.8.8/"
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

  test("names of a private network are for agents whose operator lets them; addresses in numbers are not", () => {
    const policy = { allowsPrivateNames: true };
    expect(parseServerUrl("http://mcp:8080/mcp", policy).href).toBe("http://mcp:8080/mcp");
    for (const url of ["http://10.0.0.1/", "http://metadata.google.internal/", "http://10-0-0-1.internal/"]) {
      expect(() => parseServerUrl(url, policy), url).toThrow(/private network/);
    }
    const [name, login] = [new URL("http://mcp:8080/"), new URL("http://login.internal/token")];
    expect(() => assertHop(login, name, policy)).not.toThrow();
    expect(() => assertHop(login, name)).toThrow(/name of a private network/);
    expect(() => assertHop(login, new URL("https://mcp.example.com/"), policy)).toThrow(/name of a private network/);
    expect(() => assertHop(new URL("http://localhost:9000/"), name, policy)).toThrow(/own machine/);
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
