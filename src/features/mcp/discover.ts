// Reading a server's lists, page by page. A list that the server does not offer is empty; any other failure is thrown.
import type { Client, StandardSchemaV1 } from "@modelcontextprotocol/client";
import { isObject } from "../../util/json.ts";
import type { McpCatalog } from "./catalog.ts";
import type { ClientSdk } from "./client-package.ts";
import { NO_TIMEOUT_MS } from "./connection.ts";
import {
  MAX_LIST_ITEMS,
  MAX_LIST_PAGES,
  readPrompts,
  readResources,
  readResourceTemplates,
  readTools,
  type Warn
} from "./read-catalog.ts";

export interface DiscoverInit {
  readonly sdk: ClientSdk;
  readonly client: Client;
  readonly signal: AbortSignal;
  readonly warn: Warn;
}

export async function discover(init: DiscoverInit): Promise<McpCatalog> {
  const offered = init.client.getServerCapabilities() ?? {};
  const list = async (isOffered: boolean, method: string, field: string) =>
    isOffered ? listAll(init, method, field) : [];
  const [tools, prompts, resources, templates] = await Promise.all([
    list(offered.tools !== undefined, "tools/list", "tools"),
    list(offered.prompts !== undefined, "prompts/list", "prompts"),
    list(offered.resources !== undefined, "resources/list", "resources"),
    list(offered.resources !== undefined, "resources/templates/list", "resourceTemplates")
  ]);
  return {
    tools: readTools(tools, init.warn),
    prompts: readPrompts(prompts, init.warn),
    resources: readResources(resources, init.warn),
    resourceTemplates: readResourceTemplates(templates, init.warn)
  };
}

/** The client's own list methods refuse a whole list because of one bad entry: the entries are checked one by one here. */
const ANY: StandardSchemaV1<unknown, unknown> = {
  "~standard": { version: 1, vendor: "everthink", validate: (value) => ({ value }) }
};

async function listAll({ sdk, client, signal, warn }: DiscoverInit, method: string, field: string): Promise<unknown[]> {
  const items: unknown[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MAX_LIST_PAGES; page += 1) {
    let result: unknown;
    try {
      const params = cursor === undefined ? {} : { cursor };
      result = await client.request({ method, params }, ANY, { signal, timeout: NO_TIMEOUT_MS });
    } catch (error) {
      if (error instanceof sdk.ProtocolError && error.code === sdk.METHOD_NOT_FOUND) return [];
      throw error;
    }
    const entries = isObject(result) ? result[field] : undefined;
    if (Array.isArray(entries)) items.push(...entries.slice(0, MAX_LIST_ITEMS + 1));
    const next = isObject(result) ? result["nextCursor"] : undefined;
    if (typeof next !== "string" || items.length > MAX_LIST_ITEMS) return items;
    cursor = next;
  }
  warn(`The server's list for "${method}" has more than ${MAX_LIST_PAGES} pages; the others are left out.`);
  return items;
}
