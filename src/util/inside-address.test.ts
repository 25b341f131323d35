import { BlockList } from "node:net";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { insideOf, type Inside } from "./inside-address.ts";

const CASES: Record<Inside | "public", readonly string[]> = {
  machine: [
    "localhost",
    "LOCALHOST",
    "localhost.",
    "localhost..",
    "app.localhost",
    "app.localhost.",
    "127.0.0.1",
    "127.255.255.255",
    "127.1",
    "0x7f.1",
    "0x7f.1..",
    "0177.0.0.1",
    "017700000001",
    "2130706433",
    "2130706433.",
    "１２７.0.0.1",
    "127。0。0。1",
    "%31%32%37.0.0.1",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "127.0.0.1.nip.io",
    "app-127-0-0-1.sslip.io",
    "localtest.me",
    "a.lvh.me",
    "example.com@127.0.0.1",
    "user:secret@localhost"
  ],
  name: [
    "intranet",
    "mcp",
    "mcp.",
    "printer.local",
    "printer.local.",
    "db.internal",
    "a.b.INTERNAL",
    "router.home.arpa",
    "nas.lan",
    "wiki.corp",
    "box.home",
    "host.localdomain",
    "example.com@wiki"
  ],
  network: [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "10.1",
    "0xa.1",
    "012.0.0.1",
    "167772161",
    "10.0.0.1..",
    "0xa000001..",
    "100.64.0.0",
    "100.127.255.255",
    "100.100.100.200",
    "168.63.129.16",
    "169.254.169.254",
    "169.254.169.254.",
    "2852039166",
    "0xa9.0xfe.0xa9.0xfe",
    "0251.0376.0251.0376",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.192",
    "192.0.2.7",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.9",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "[::]",
    "[::10.0.0.1]",
    "[::8.8.8.8]",
    "[::ffff:10.0.0.1]",
    "[::ffff:0:10.0.0.1]",
    "[64:ff9b::10.0.0.1]",
    "[64:ff9b::8.8.8.8]",
    "[64:ff9b:1::1]",
    "[100::1]",
    "[2001::1]",
    "[2001:0:4136:e378:8000:63bf:3fff:fdd2]",
    "[2001:2::1]",
    "[2001:10::1]",
    "[2001:20::1]",
    "[2001:1ff:ffff::1]",
    "[2001:db8::1]",
    "[2002:a00:1::]",
    "[2002:808:808::]",
    "[3fff::1]",
    "[3fff:fff:ffff::1]",
    "[fc00::1]",
    "[fd00:ec2::254]",
    "[fe80::1]",
    "[febf::1]",
    "[fec0::1]",
    "[ff02::1]",
    "metadata",
    "metadata.google.internal",
    "METADATA.google.internal..",
    "metadata.goog",
    "10.0.0.1.nip.io",
    "app.169.254.169.254.nip.io",
    "ip-10-0-0-1.ec2.internal",
    "a.192-168-0-1.sslip.io",
    "0a000001.nip.io",
    "app-c0a80001.nip.io",
    "0a000001.8.8.8.8.nip.io",
    "fe80--1.sslip.io",
    "nip.io",
    "example.com@10.0.0.1",
    "8.8.8.8:80@10.0.0.1:8080"
  ],
  public: [
    "example.com",
    "example.com.",
    "localhost.example.com",
    "internal.example.com",
    "local.example.org",
    "notlocaltest.me",
    "1.1.1.1",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.1",
    "168.63.129.17",
    "169.253.255.255",
    "169.255.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "191.255.255.255",
    "192.0.1.0",
    "192.0.3.0",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "[2001:200::1]",
    "[2001:4860:4860::8888]",
    "[2003::1]",
    "[2606:4700::1111]",
    "[3fff:1000::1]",
    "[::ffff:8.8.8.8]",
    "8.8.8.8.nip.io",
    "app-8-8-8-8.sslip.io",
    "0a000001.example.com",
    "v1.10.0.example.com",
    "mcp-10-2-3.example.com",
    "release-2024-10-0-0-1x.example.com",
    "10.0.0.1@example.com"
  ]
};

describe.each(Object.entries(CASES))("%s", (kind, hosts) => {
  test.each(hosts)("%s", (host) => {
    expect(insideOf(new URL(`http://${host}/`)) ?? "public").toBe(kind);
    expect(insideOf(new URL(`https://${host}/a?b=http://8.8.8.8/`)) ?? "public").toBe(kind);
  });
});

/** What is not public, by Node's own matching of ranges. */
const oracle = new BlockList();
for (const range of [
  ...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "168.63.129.16/32", "169.254.0.0/16", "172.16.0.0/12"],
  ...["192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24"],
  ...["203.0.113.0/24", "224.0.0.0/3"]
]) {
  const [address = "", bits] = range.split("/");
  oracle.addSubnet(address, Number(bits), "ipv4");
}
const oracle6 = new BlockList();
for (const range of [...["::/3", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "4000::/2", "8000::/1"]]) {
  const [address = "", bits] = range.split("/");
  oracle6.addSubnet(address, Number(bits), "ipv6");
}

const octet = fc.oneof(
  fc.nat(255),
  fc.constantFrom(0, 2, 10, 16, 31, 63, 64, 99, 100, 113, 127, 128, 168, 169, 172, 192, 198, 203, 224, 254)
);
const ipv4 = fc.tuple(octet, octet, octet, octet);
const written = (value: number, form: number) =>
  form === 0 ? String(value) : form === 1 ? `0x${value.toString(16)}` : `0${value.toString(8)}`;
const forms = fc.array(fc.nat(2), { minLength: 4, maxLength: 4 });

test("every IPv4 address is judged as Node's ranges judge it, in each of its spellings", () => {
  fc.assert(
    fc.property(
      ipv4,
      forms,
      fc.integer({ min: 1, max: 4 }),
      fc.boolean(),
      (octets, [f0 = 0, f1 = 0, f2 = 0, f3 = 0], parts, dot) => {
        const number = octets.reduce((sum, part) => sum * 256 + part, 0);
        // The last part of a short spelling holds all bytes that are left.
        const tail = number % 256 ** (5 - parts);
        const given = [f0, f1, f2, f3];
        const spelling = [...octets.slice(0, parts - 1), tail]
          .map((part, index) => written(part, given[index] ?? 0))
          .join(".");
        const expected = oracle.check(octets.join("."), "ipv4");
        expect(insideOf(new URL(`http://${spelling}${dot ? "." : ""}/`)) !== undefined, spelling).toBe(expected);
        const mapped = `[::ffff:${octets.join(".")}]`;
        expect(insideOf(new URL(`http://${mapped}/`)) !== undefined, mapped).toBe(expected);
      }
    ),
    { numRuns: 2_000 }
  );
});

const group = fc.oneof(
  fc.nat(0xffff),
  fc.constantFrom(
    0,
    1,
    0x64,
    0x100,
    0x1ff,
    0x200,
    0xdb8,
    0xfff,
    0x1000,
    0x2000,
    0x2001,
    0x2002,
    0x2003,
    0x3fff,
    0x4000,
    0xfc00,
    0xfe80,
    0xff02
  )
);

test("every IPv6 address is judged as Node's ranges judge it", () => {
  fc.assert(
    fc.property(fc.array(group, { minLength: 8, maxLength: 8 }), (groups) => {
      const text = groups.map((one) => one.toString(16)).join(":");
      fc.pre(!/^(?:0:){5}ffff:/.test(text));
      expect(insideOf(new URL(`http://[${text}]/`)) !== undefined, text).toBe(oracle6.check(text, "ipv6"));
    }),
    { numRuns: 4_000 }
  );
});

test("no name ends in a private suffix and is public, whatever comes before it and however many dots follow", () => {
  const label = fc.stringMatching(/^[a-z][a-z\d]{0,10}$/);
  const suffix = fc.constantFrom("internal", "local", "localhost", "home.arpa", "lan", "corp", "localdomain");
  fc.assert(
    fc.property(fc.array(label, { maxLength: 4 }), suffix, fc.nat(3), (labels, end, dots) => {
      const host = [...labels, end].join(".") + ".".repeat(dots);
      expect(insideOf(new URL(`http://${host}/`)), host).toBeDefined();
    })
  );
});
