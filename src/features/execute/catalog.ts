// What code can find out about what it may call: declarations made from schemas, and search.
import { openConnectors, type Connector, type ConnectorTool, type OpenConnector } from "./connector.ts";
import { typeText } from "./schema-types.ts";

const MAX_RESULTS = 50;
const MAX_SUMMARY_CHARS = 200;

export interface CatalogSnippet {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema?: unknown;
}

export interface FoundMethod {
  readonly path: string;
  readonly connector?: string;
  readonly method?: string;
  readonly description?: string;
  readonly kind: "method" | "snippet";
  readonly score: number;
}

export interface Found {
  readonly results: FoundMethod[];
  readonly total: number;
  readonly truncated: boolean;
}

export interface Described {
  readonly path: string;
  readonly description?: string;
  readonly types: string;
  readonly kind: "connector" | "method" | "snippet" | "unknown";
}

/** What declarations are made of. */
export type DeclaredTool = Pick<ConnectorTool, "description" | "inputSchema" | "outputSchema">;

export class ConnectorCatalog {
  readonly #connectors: readonly OpenConnector[];
  readonly #snippets: readonly CatalogSnippet[];

  constructor(connectors: readonly OpenConnector[], snippets: readonly CatalogSnippet[]) {
    this.#connectors = connectors;
    this.#snippets = snippets;
  }

  search(query: string): Found {
    const results = [...this.#methods(), ...this.#snippetResults()]
      .map((one) => ({ ...one, score: scoreOf(query, one) }))
      .filter(({ score }) => score > 0)
      .toSorted((a, b) => b.score - a.score || (a.path < b.path ? -1 : 1));
    return { results: results.slice(0, MAX_RESULTS), total: results.length, truncated: results.length > MAX_RESULTS };
  }

  describe(target: string): Described {
    const connector = this.#connectors.find(({ name }) => name === target);
    if (connector)
      return { path: target, ...noted(connector.instructions), types: declarationOf(connector), kind: "connector" };
    const [name, method = ""] = target.split(".", 2);
    const tool = this.#connectors.find((one) => one.name === name)?.tools.get(method);
    if (tool) return { path: target, ...noted(tool.description), types: signature(method, tool), kind: "method" };
    const snippet = this.#snippets.find((one) => one.name === target);
    if (snippet) {
      const types = `codemode.run(${JSON.stringify(target)}, input: ${typeText(snippet.inputSchema)}): Promise<unknown>`;
      return { path: target, ...noted(snippet.description), types, kind: "snippet" };
    }
    return { path: target, types: `"${target}" was not found. Use codemode.search(query).`, kind: "unknown" };
  }

  #methods(): Omit<FoundMethod, "score">[] {
    return this.#connectors.flatMap(({ name, tools }) =>
      [...tools].map(([method, { description }]) => ({
        path: `${name}.${method}`,
        connector: name,
        method,
        ...noted(description?.slice(0, MAX_SUMMARY_CHARS)),
        kind: "method" as const
      }))
    );
  }

  #snippetResults(): Omit<FoundMethod, "score">[] {
    return this.#snippets.map(({ name, description }) => ({
      path: name,
      ...noted(description?.slice(0, MAX_SUMMARY_CHARS)),
      kind: "snippet" as const
    }));
  }
}

function noted(description: string | undefined): { description?: string } {
  return description === undefined ? {} : { description };
}

/** Of a connector and all its methods. */
export function declarationOf({ name, tools }: { name: string; tools: ReadonlyMap<string, DeclaredTool> }): string {
  const methods = [...tools].map(([method, tool]) => {
    const note = tool.description === undefined ? "" : `  /** ${oneLine(tool.description)} */\n`;
    return `${note}  ${signature(method, tool)};`;
  });
  return `declare const ${name}: {\n${methods.join("\n")}\n};`;
}

/** Of a connector that is not open. Throws ExecuteDefinitionError. */
export async function typesOfConnector(connector: Connector): Promise<string> {
  const opened = await openConnectors([connector]);
  return opened.map(declarationOf).join("\n");
}

/**
 * TypeScript declarations of functions that JSON Schemas describe.
 *
 * @example
 * generateTypesFromJsonSchema({ add: { inputSchema: { type: "object", properties: { a: { type: "number" } } } } });
 */
export function generateTypesFromJsonSchema(tools: Readonly<Record<string, DeclaredTool>>, name = "tools"): string {
  return declarationOf({ name, tools: new Map(Object.entries(tools)) });
}

function signature(method: string, { inputSchema, outputSchema }: DeclaredTool): string {
  const result = outputSchema === undefined ? "unknown" : typeText(outputSchema);
  return `${method}(args: ${typeText(inputSchema)}): Promise<${result}>`;
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").replaceAll("*/", "* /").slice(0, MAX_SUMMARY_CHARS);
}

// ── Search: each field has a weight, each kind of match a factor ──

function scoreOf(query: string, one: Omit<FoundMethod, "score">): number {
  const tokens = tokensOf(query);
  if (tokens.length === 0) return 0;
  const fields: [string, number][] = [
    [one.path, 12],
    [one.method ?? one.path, 10],
    [one.connector ?? "", 8],
    [one.description ?? "", 5]
  ];
  const scores = tokens.map((token) => Math.max(...fields.map(([text, weight]) => weight * tokenMatch(text, token))));
  const matched = scores.filter((score) => score > 0).length;
  const needed = tokens.length <= 2 ? tokens.length : Math.ceil(tokens.length * 0.6);
  if (matched < needed) return 0;
  const phrase = Math.max(...fields.map(([text, weight]) => weight * phraseMatch(text, query)));
  const isExact = [one.path, one.method].some((name) => name?.toLowerCase() === query.trim().toLowerCase());
  const first = (scores[0] ?? 0) > 0 ? 8 : 0;
  const sum = scores.reduce((total, score) => total + score, 0);
  return sum + phrase + (matched === tokens.length ? 25 : 0) + first + (isExact ? 20 : 0);
}

function phraseMatch(text: string, query: string): number {
  const [whole, asked] = [text.toLowerCase(), query.trim().toLowerCase()];
  if (whole === asked) return 14;
  if (whole.startsWith(asked)) return 9;
  return whole.includes(asked) ? 6 : 0;
}

function tokenMatch(text: string, token: string): number {
  const tokens = tokensOf(text);
  if (tokens.includes(token)) return 4;
  if (tokens.some((one) => one.startsWith(token))) return 2;
  return text.toLowerCase().includes(token) ? 1 : 0;
}

function tokensOf(text: string): string[] {
  return text
    .slice(0, 1_000)
    .replaceAll(/([a-z\d])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[\s_./:-]+/)
    .filter((token) => token !== "");
}
