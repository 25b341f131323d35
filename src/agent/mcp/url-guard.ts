// Which addresses an agent may be sent to on behalf of an MCP server. Checked before a server is stored and again for
// every request, redirects and the addresses in a server's OAuth metadata included: those are chosen by the server.
// Pure. Names are not resolved: a public name whose DNS entry points into a private network is for the network's own
// rules to stop. Names that spell such an address are refused.
import { isLoopback } from "../../util/loopback.ts";
import { BlockedUrlError } from "./errors.ts";

type Ipv4 = readonly [number, number, number, number];

/** Names under which clouds serve credentials to the machine that asks. */
const METADATA_NAMES: ReadonlySet<string> = new Set([
  "metadata.google.internal",
  "metadata.goog",
  "metadata",
  "instance-data",
  "instance-data.ec2.internal"
]);

/** Wildcard DNS services: a name below one of these is answered with the address that it spells. */
const WILDCARD_DNS = /\.(?:nip\.io|sslip\.io|xip\.io|traefik\.me)$/;

/** One decimal address, and at most one word before it. These services also read hexadecimal and IPv6 addresses. */
const SPELLS_ONE_IPV4 = /^(?:[a-z]+[.-])?\d{1,3}(?:(?:\.\d{1,3}){3}|(?:-\d{1,3}){3})\.[^.]+\.[^.]+$/;

/** Metadata services at addresses outside of the private ranges. */
const METADATA_ADDRESSES: ReadonlySet<string> = new Set(["100.100.100.200", "192.0.0.192"]);

/** The address of an MCP server as a user gave it. Throws BlockedUrlError. */
export function parseServerUrl(text: string): URL {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new BlockedUrlError("it is not a URL");
  }
  assertAllowed(url);
  if (url.username !== "" || url.password !== "") {
    throw new BlockedUrlError("it contains a user name or password; use transport.headers");
  }
  return url;
}

/** The spelling under which two addresses of one server are the same: host case, default port, trailing slash. */
export function normalizeUrl(url: URL): string {
  const path = url.pathname.replace(/\/+$/, "");
  return `${url.protocol}//${url.host.replace(/\.+(?=$|:)/, "")}${path}${url.search}`;
}

/**
 * Throws BlockedUrlError for a request that is made because of `server`, and should not be. A server at a public address
 * must not reach the services of the agent's own machine either, which only its operator may name.
 */
export function assertHop(target: URL, server: URL): void {
  assertAllowed(target);
  if (isOwnMachine(target) && !isOwnMachine(server)) {
    throw new BlockedUrlError("the server led to an address of the agent's own machine");
  }
}

function assertAllowed(url: URL): void {
  if (url.protocol !== "http:" && url.protocol !== "https:") throw new BlockedUrlError("it is neither http nor https");
  const host = hostOf(url);
  if (METADATA_NAMES.has(host)) throw new BlockedUrlError("it is the address of a metadata service");
  if (WILDCARD_DNS.test(host) && !SPELLS_ONE_IPV4.test(host)) {
    throw new BlockedUrlError("it is a name that spells an address, and does not spell it plainly");
  }
  if (addressesIn(host).some(isBlocked)) throw new BlockedUrlError("it is an address of a private network");
  if (host.startsWith("[") && isBlockedIpv6(ipv6Groups(host))) {
    throw new BlockedUrlError("it is an address of a private network");
  }
}

function isOwnMachine(url: URL): boolean {
  const host = hostOf(url);
  return isLoopback(host) || addressesIn(host).some(([first]) => first === 127);
}

/** As URLs spell it, without the dot that makes a name absolute. Some resolvers overlook a second one. */
function hostOf(url: URL): string {
  return url.hostname.toLowerCase().replace(/\.+$/, "");
}

/** Every IPv4 address that a host is or spells: itself, inside an IPv6 address, or as labels of a name. */
function addressesIn(host: string): Ipv4[] {
  if (host.startsWith("[")) return embeddedIpv4(ipv6Groups(host));
  // Wildcard DNS services answer 10.0.0.1.nip.io and 10-0-0-1.nip.io with that address. The lookahead lets matches overlap.
  const spelled = host.matchAll(/(?<![\w])(?=(\d{1,3})[.-](\d{1,3})[.-](\d{1,3})[.-](\d{1,3})(?![\w]))/g);
  return [...spelled].flatMap(([, ...parts]): Ipv4[] => {
    const [a, b, c, d] = parts.map(Number);
    if (a === undefined || b === undefined || c === undefined || d === undefined) return [];
    return [a, b, c, d].every((part) => part <= 255) ? [[a, b, c, d]] : [];
  });
}

function isBlocked(address: Ipv4): boolean {
  const [a, b] = address;
  return (
    a === 0 ||
    a === 10 ||
    (a === 172 && b >= 16 && b <= 31) ||
    (a === 192 && b === 168) ||
    (a === 169 && b === 254) ||
    METADATA_ADDRESSES.has(address.join("."))
  );
}

/** The eight groups of `[…]` as `URL` writes it: hexadecimal, zeros shortened. */
function ipv6Groups(host: string): number[] {
  const [head = "", tail] = host.slice(1, -1).split("::");
  const groups = (text: string) => (text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16)));
  const [before, after] = [groups(head), tail === undefined ? [] : groups(tail)];
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
}

function isBlockedIpv6(groups: readonly number[]): boolean {
  const [first = 0] = groups;
  const isUnspecified = groups.every((group) => group === 0);
  const isUniqueLocal = (first & 0xfe00) === 0xfc00;
  // fe80::/10, and fec0::/10 of older networks.
  const isLinkOrSiteLocal = (first & 0xff80) === 0xfe80;
  return isUnspecified || isUniqueLocal || isLinkOrSiteLocal;
}

/** IPv4 addresses that an IPv6 one stands for: mapped, compatible, translated, NAT64 and 6to4. */
function embeddedIpv4(groups: readonly number[]): Ipv4[] {
  const [g0 = 0, g1 = 0, g2 = 0, , g4 = 0, g5 = 0, g6 = 0, g7 = 0] = groups;
  const hasZeros = (from: number, to: number) => groups.slice(from, to).every((group) => group === 0);
  const isMapped = hasZeros(0, 5) && (g5 === 0xffff || (g5 === 0 && g6 !== 0));
  const isTranslated = hasZeros(0, 4) && g4 === 0xffff && g5 === 0;
  const isNat64 = g0 === 0x64 && g1 === 0xff9b;
  if (isMapped || isTranslated || isNat64) return [ipv4Of(g6, g7)];
  return g0 === 0x2002 ? [ipv4Of(g1, g2)] : [];
}

function ipv4Of(high: number, low: number): Ipv4 {
  return [high >> 8, high & 255, low >> 8, low & 255];
}
