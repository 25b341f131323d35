// Whether an address leads to the public internet, or to something inside: this machine, the network around it, or ranges
// that no public host has. One answer for everything that sends requests on behalf of a model, a user or another server.
// Pure. Names are not resolved: a public name whose DNS entry points inside is for the network's own rules to stop. Names
// that spell an address, or that are only known inside, are recognised.
import { isObject } from "./json.ts";
import { isLoopback } from "./loopback.ts";

/** Set by `everthink serve --allow-private-network`: names of the network around the machine may be asked. */
const PRIVATE_NETWORK_VARIABLE = "EVERTHINK_PRIVATE_NETWORK";

/** Whether the operator lets agents reach names of a private network, by the variables of the Worker. */
export function allowsPrivateNames(env: unknown): boolean {
  return isObject(env) && env[PRIVATE_NETWORK_VARIABLE] === "1";
}

/** `machine`: this one. `name`: a name that only a private network knows. `network`: an address that is not public. */
export type Inside = "machine" | "name" | "network";

export const INSIDE_REASONS: Record<Inside, string> = {
  machine: "it is an address of the agent's own machine",
  name: "it is a name of a private network",
  network: "it is an address of a private network"
};

/**
 * Undefined: a public address. Ask again for every address that a redirect or an answer names.
 *
 * `insideOf(new URL("http://0x7f.1/"))` is `machine`, `insideOf(new URL("https://example.com/"))` is undefined.
 */
export function insideOf(url: URL): Inside | undefined {
  const host = hostOf(url);
  if (host.startsWith("[")) return insideOfIpv6(ipv6Groups(host));
  const spelled = spelledAddresses(host).map(insideOfIpv4);
  if (spelled.includes("network") || isUnclearWildcard(host) || METADATA_NAMES.has(host)) return "network";
  if (spelled.includes("machine") || isLoopback(host) || LOOPBACK_DNS.test(host)) return "machine";
  return PRIVATE_NAMES.test(host) || !host.includes(".") ? "name" : undefined;
}

/** Without the dots that make a name absolute, which some resolvers overlook; what is left may be a number in an odd form. */
function hostOf(url: URL): string {
  const host = url.hostname.toLowerCase().replace(/\.+$/, "");
  const text = `http://${host}/`;
  return URL.canParse(text) ? new URL(text).hostname : host;
}

/** Top-level names for use inside of networks (RFC 6762, RFC 8375, ICANN's `internal`), and what routers call them. */
const PRIVATE_NAMES = /(?:^|\.)(?:internal|local|localdomain|home\.arpa|intranet|private|corp|home|lan)$/;

/** Names under which clouds serve credentials to the machine that asks. */
const METADATA_NAMES: ReadonlySet<string> = new Set([
  "metadata.google.internal",
  "metadata.goog",
  "metadata",
  "instance-data",
  "instance-data.ec2.internal"
]);

/** Public names that are answered with the address of the machine that asks. */
const LOOPBACK_DNS = /(?:^|\.)(?:localtest\.me|lvh\.me|vcap\.me|lacolhost\.com|local\.gd|localhost\.direct)$/;

/** Wildcard DNS services: a name below one of these is answered with the address that it spells. */
const WILDCARD_DNS = /(?:^|\.)(?:nip\.io|sslip\.io|xip\.io|traefik\.me)$/;

/** One decimal address, and at most one word before it. These services also read hexadecimal and IPv6 addresses. */
const SPELLS_ONE_IPV4 = /^(?:[a-z]+[.-])?\d{1,3}(?:(?:\.\d{1,3}){3}|(?:-\d{1,3}){3})\.[^.]+\.[^.]+$/;

function isUnclearWildcard(host: string): boolean {
  return WILDCARD_DNS.test(host) && !SPELLS_ONE_IPV4.test(host);
}

/** Every IPv4 address, as a number, that a host is or spells with its labels. The lookahead lets matches overlap. */
function spelledAddresses(host: string): number[] {
  const spelled = host.matchAll(/(?<![\w])(?=(\d{1,3})[.-](\d{1,3})[.-](\d{1,3})[.-](\d{1,3})(?![\w]))/g);
  return [...spelled].flatMap(([, ...parts]) => {
    const numbers = parts.map(Number);
    return numbers.every((part) => part <= 255) ? [numbers.reduce((sum, part) => sum * 256 + part, 0)] : [];
  });
}

/** IANA's special-purpose addresses, but those of this machine. */
const NOT_PUBLIC: readonly Range[] = [
  "0.0.0.0/8", // this network
  "10.0.0.0/8", // private
  "100.64.0.0/10", // shared by a provider's customers
  "168.63.129.16/32", // Azure's own services
  "169.254.0.0/16", // link-local, and the metadata of most clouds
  "172.16.0.0/12", // private
  "192.0.0.0/24", // protocol assignments
  "192.0.2.0/24", // documentation
  "192.88.99.0/24", // relays of 6to4
  "192.168.0.0/16", // private
  "198.18.0.0/15", // benchmarks
  "198.51.100.0/24", // documentation
  "203.0.113.0/24", // documentation
  "224.0.0.0/4", // multicast
  "240.0.0.0/4" // reserved, and broadcast
].map(rangeOf);

interface Range {
  readonly first: number;
  readonly last: number;
}

function rangeOf(text: string): Range {
  const [address = "", bits] = text.split("/");
  const first = spelledAddresses(address)[0] ?? 0;
  return { first, last: first + 2 ** (32 - Number(bits)) - 1 };
}

function insideOfIpv4(address: number): Inside | undefined {
  if (Math.floor(address / 2 ** 24) === 127) return "machine";
  return NOT_PUBLIC.some(({ first, last }) => address >= first && address <= last) ? "network" : undefined;
}

/** The eight groups of `[…]` as `URL` writes it: hexadecimal, zeros shortened. */
function ipv6Groups(host: string): number[] {
  const [head = "", tail] = host.slice(1, -1).split("::");
  const groups = (text: string) => (text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16)));
  const [before, after] = [groups(head), tail === undefined ? [] : groups(tail)];
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
}

/**
 * Public hosts have addresses of 2000::/3. Of those are excepted: protocol assignments with Teredo, documentation, and 6to4,
 * which stands for an IPv4 address. A mapped IPv4 address is what it maps; other spellings of one have no use.
 */
function insideOfIpv6(groups: readonly number[]): Inside | undefined {
  const [g0 = 0, g1 = 0, , , , g5 = 0, g6 = 0, g7 = 0] = groups;
  const hasZeros = (to: number) => groups.slice(0, to).every((group) => group === 0);
  if (hasZeros(5) && g5 === 0xffff) return insideOfIpv4(g6 * 65_536 + g7);
  if (hasZeros(7) && g7 === 1) return "machine";
  const isGlobal = g0 >= 0x2000 && g0 <= 0x3fff;
  const isAssigned = g0 === 0x2001 && (g1 < 0x200 || g1 === 0xdb8);
  const isDocumentation = g0 === 0x3fff && g1 < 0x1000;
  return isGlobal && !isAssigned && !isDocumentation && g0 !== 0x2002 ? undefined : "network";
}
