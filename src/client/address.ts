// Where an agent is found: the URL of its socket and of its stored messages, built exactly as the published clients build
// them, so that all of them reach the same object. Pure.
import { kebabCase } from "../util/kebab.ts";
import { ClientAddressError } from "./errors.ts";

export interface AgentStep {
  /** Class name, or its form in URLs: "ChatRoom" and "chat-room" are the same. */
  readonly agent: string;
  readonly name: string;
}

/** Either the whole address of the agent, or the parts it is made of. */
export type AgentAddress =
  | { readonly url: string | URL; readonly host?: undefined }
  | {
      readonly url?: undefined;
      /** With or without scheme and port. Default: where the page came from. */
      readonly host?: string;
      readonly agent: string;
      /** Default "default". */
      readonly name?: string;
      /** First segments of the path. Default "agents". */
      readonly prefix?: string;
      /** The way from that agent down to one of its sub-agents. */
      readonly sub?: readonly AgentStep[];
    };

export type Query = Readonly<Record<string, string | null | undefined>>;

/** The address without query, as http(s). It is also the identity of the agent: two clients of one address may be one. */
export function agentUrl(address: AgentAddress, pageOrigin?: string): string {
  if (address.url !== undefined) return checkedUrl(String(address.url), pageOrigin).href.replace(/\/+$/, "");
  const { agent, name = "default", prefix = "agents", sub = [] } = address;
  if (agent === "") throw new ClientAddressError("the agent has no name of a class");
  // Published clients write the name as it is, so escaping more than the URL does would reach another object.
  if (name === "" || /[/?#]/.test(name)) throw new ClientAddressError(`"${name}" cannot be a name in a URL`);
  const origin = originOf(address.host, pageOrigin);
  return sub.reduce(subAgentUrl, checkedUrl(`${origin}/${prefix}/${kebabCase(agent)}/${name}`).href);
}

/** Of a sub-agent, directly below its parent's. */
export function subAgentUrl(parent: string, { agent, name }: AgentStep): string {
  return `${parent}/sub/${kebabCase(agent)}/${encodeURIComponent(name)}`;
}

export function socketUrl(agent: string, query: Query): string {
  const url = new URL(agent);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  return withQuery(url, query).href;
}

export function messagesUrl(agent: string, query: Query): string {
  const url = new URL(agent);
  url.pathname += "/get-messages";
  return withQuery(url, query).href;
}

function withQuery(url: URL, query: Query): URL {
  for (const [key, value] of Object.entries(query)) {
    if (value !== null && value !== undefined) url.searchParams.set(key, value);
  }
  return url;
}

const SCHEMES: Readonly<Record<string, string>> = {
  "ws:": "http:",
  "wss:": "https:",
  "http:": "http:",
  "https:": "https:"
};

function checkedUrl(text: string, base?: string): URL {
  if (!URL.canParse(text, base)) throw new ClientAddressError(`"${text}" is not a URL`);
  const url = new URL(text, base);
  const scheme = SCHEMES[url.protocol];
  if (scheme === undefined) throw new ClientAddressError(`"${url.protocol}" is not spoken by agents`);
  // The URL class refuses to turn ws: into http: on some platforms, so the text is changed.
  return new URL(scheme + url.href.slice(url.protocol.length));
}

/** Hosts that are reached without encryption, as the published clients decide it. */
const LOCAL_HOST = /^(localhost:|127\.0\.0\.1:|192\.168\.|10\.|172\.(1[6-9]|2\d|3[01])\.|\[::ffff:7f00:1\]:)/;

function originOf(host: string | undefined, pageOrigin: string | undefined): string {
  if (host === undefined) {
    if (pageOrigin === undefined) throw new ClientAddressError("outside a page it needs a host");
    return pageOrigin;
  }
  if (/^\w+:\/\//.test(host)) return host.replace(/\/+$/, "");
  return `${LOCAL_HOST.test(host) ? "http" : "https"}://${host}`;
}
