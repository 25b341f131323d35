// The operations of an OpenAPI service as functions for code. The code names an operation and its arguments; the request
// is made by the host, which knows the address and the credentials. What code gives cannot change where a request goes:
// arguments are encoded into their place, and a path cannot leave the service.
import { decodePercent } from "../../../util/decode-percent.ts";
import { isObject } from "../../../util/json.ts";
import type { ConnectorContext, ConnectorTool } from "../connector.ts";
import { CodemodeConnector } from "./codemode-connector.ts";
import { operationsOf, PLAIN_REQUEST, type OpenApiOperation } from "./openapi-operations.ts";
import type { MaybePromise } from "../../../util/maybe-promise.ts";

/** A request that the host makes. */
export interface OpenApiRequest {
  readonly method: string;
  /** Begins with "/"; arguments are in their place, encoded. */
  readonly path: string;
  readonly query: Readonly<Record<string, string | readonly string[]>>;
  readonly headers: Readonly<Record<string, string>>;
  /** A value, to be sent as JSON. */
  readonly body?: unknown;
  /** Of the operation, if the request is one of the document. */
  readonly operationId?: string;
}

/** They only read, by the definition of HTTP. */
const SAFE_METHODS = new Set(["GET", "HEAD", "OPTIONS"]);
/** Headers that say who asks: they are the host's. */
const HOST_HEADERS = new Set(["authorization", "proxy-authorization", "cookie", "host", "content-length"]);

/**
 * A service that an OpenAPI document describes: one function for each operation, and `request` for the rest.
 *
 * @example
 * class Orders extends OpenApiConnector {
 *   name() {
 *     return "orders";
 *   }
 *   spec() {
 *     return ordersDocument;
 *   }
 *   async request({ method, path, query, headers, body }) {
 *     const url = new URL(`https://orders.example.com${path}?${new URLSearchParams(query)}`);
 *     const response = await fetch(url, { method, headers: { ...headers, authorization: token }, body: JSON.stringify(body) });
 *     return response.json();
 *   }
 * }
 */
export abstract class OpenApiConnector<Env = unknown> extends CodemodeConnector<Env> {
  /** The document, version 3 or 2, as an object. */
  protected abstract spec(): MaybePromise<object>;

  /** Makes a request and answers what the code is given. A throw is thrown in the code. */
  protected abstract request(request: OpenApiRequest, context: ConnectorContext): unknown;

  protected override tools(): MaybePromise<Record<string, ConnectorTool>> {
    const spec = this.spec();
    return spec instanceof Promise ? spec.then((one) => this.#methods(one)) : this.#methods(spec);
  }

  #methods(spec: object): Record<string, ConnectorTool> {
    const operations = knownOperations(spec);
    const methods = operations.map((one): [string, ConnectorTool] => [one.method, this.#method(one)]);
    return Object.fromEntries([...methods, [PLAIN_REQUEST, this.#plainRequest(operations)]]);
  }

  #method(operation: OpenApiOperation): ConnectorTool {
    return {
      description: operation.description,
      onUnknownOutcome: SAFE_METHODS.has(operation.httpMethod.toUpperCase()) ? ("retry" as const) : undefined,
      get inputSchema() {
        return operation.inputSchema();
      },
      get outputSchema() {
        return operation.outputSchema();
      },
      execute: (args, context) => this.request(requestOf(operation, isObject(args) ? args : {}), context)
    };
  }

  /** Gated as the operation that it comes to. What no operation describes needs an approval. */
  #plainRequest(operations: readonly OpenApiOperation[]): ConnectorTool {
    return {
      description: "Any other request to the service. Needs an approval unless it is one of the operations.",
      inputSchema: PLAIN_SCHEMA,
      requiresApproval: async (args) => {
        const request = plainRequest(args);
        const found = operations.filter((one) => matches(one, request));
        if (found.length === 0) return true;
        // A gate that decides by the operation's own arguments cannot be asked here: it is taken to be closed.
        return found.some((one) => (this.tool(one.method, this.#method(one))?.requiresApproval ?? false) !== false);
      },
      execute: (args, context) => this.request(plainRequest(args), context)
    };
  }
}

const PLAIN_SCHEMA = {
  type: "object",
  properties: {
    method: { type: "string" },
    path: { type: "string" },
    query: { type: "object" },
    headers: { type: "object" },
    body: {}
  },
  required: ["method", "path"],
  additionalProperties: false
};

/** By document: one that does not change is read once. */
const known = new WeakMap<object, OpenApiOperation[]>();

function knownOperations(spec: object): OpenApiOperation[] {
  const operations = known.get(spec) ?? operationsOf(spec);
  known.set(spec, operations);
  return operations;
}

function requestOf(operation: OpenApiOperation, args: Record<string, unknown>): OpenApiRequest {
  const { httpMethod: method, operationId } = operation;
  let { path } = operation;
  const query: Record<string, string | string[]> = {};
  const headers: Record<string, string> = {};
  for (const { argument, name, in: place } of operation.parameters) {
    const value = args[argument];
    if (value === undefined || value === null) continue;
    if (place === "path") path = path.replaceAll(`{${name}}`, () => pathSegment(value));
    else if (place === "query") query[name] = Array.isArray(value) ? value.map(textOf) : textOf(value);
    else headers[name] = textOf(value);
  }
  const { body } = args;
  const request = { method, path: checkedPath(path), query, headers: sendable(headers) };
  return { ...request, body, operationId };
}

function plainRequest(args: unknown): OpenApiRequest {
  const { method, path, query, headers, body } = isObject(args) ? args : {};
  const texts = (given: unknown) =>
    Object.fromEntries(isObject(given) ? Object.entries(given).map(([name, one]) => [name, textOf(one)]) : []);
  if (String(path).includes("?")) throw new TypeError('A "path" has no "?": give "query".');
  return {
    method: String(method).toUpperCase(),
    path: checkedPath(String(path)),
    query: texts(query),
    headers: sendable(texts(headers)),
    body
  };
}

/** Whether a request is one of an operation: a name in braces stands for one segment. */
function matches(operation: OpenApiOperation, { method, path }: OpenApiRequest): boolean {
  const wanted = operation.path.split("/");
  const given = path.replace(/\/+$/, "").split("/");
  return (
    operation.httpMethod === method &&
    wanted.length === given.length &&
    wanted.every((segment, index) => segment.includes("{") || segment === decodeSegment(given[index] ?? ""))
  );
}

/** Encoded, so that it stays one segment. A URL takes "." and ".." for directions, also encoded. */
function pathSegment(value: unknown): string {
  const text = textOf(value);
  if (text === "" || text === "." || text === "..") throw new TypeError(`"${text}" cannot be part of a path.`);
  return encodeURIComponent(text);
}

function decodeSegment(segment: string): string {
  return decodePercent(segment) ?? segment;
}

/** Throws for a path that a URL would read as another host or another place. */
function checkedPath(path: string): string {
  const isOutside = !path.startsWith("/") || path.startsWith("//") || /[\\#\s]/.test(path);
  const segments = path.split("/").map(decodeSegment);
  if (isOutside || segments.some((one) => one === "." || one === ".."))
    throw new TypeError(`"${path.slice(0, 200)}" is not a path of the service.`);
  return path;
}

function sendable(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !HOST_HEADERS.has(name.toLowerCase())));
}

function textOf(value: unknown): string {
  return typeof value === "object" && value !== null ? JSON.stringify(value) : String(value);
}
