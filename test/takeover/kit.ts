// Objects that the published packages of the original have written, in the in-process host. What is in a fixture and how
// it was made: tools/takeover-fixtures.ts. The classes are those of the project, with other imports.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createTestHost, type AgentClass, type TestHost } from "../../src/testing/index.ts";

export const LAYOUTS = ["layout-a", "layout-b"] as const;
export type Layout = (typeof LAYOUTS)[number];
/** Versions between the two, with what is different in them: open submissions. */
export const BETWEEN = ["think-0.15", "think-0.18"] as const;
export type Fixtures = Layout | (typeof BETWEEN)[number];

/** When the fixtures were made, for a clock that is just behind it. */
const MADE_AT = Date.UTC(2026, 10, 16, 11, 50);

/** What tests call on an object of the project. */
export interface ProjectObject extends Rpc.DurableObjectBranded {
  [method: string]: (...args: never[]) => Promise<never>;
}

// The project is written for other packages, whose types are not installed here: the compiler must not look into it.
const PROJECT = join(import.meta.dirname, "project", "src", "server.ts");
export const { Assistant, Counter, Researcher } = (await import(PROJECT)) as Record<
  "Assistant" | "Counter" | "Researcher",
  AgentClass & { options?: object }
>;

const FIXTURES = join(import.meta.dirname, "fixtures");

export function openHost(): TestHost {
  return createTestHost({ agents: { Assistant, Counter }, exports: [Researcher], now: MADE_AT }) as TestHost;
}

/** Puts an object of the original, with its children, where the host finds it. */
export function load(host: TestHost, layout: Fixtures, file: string): void {
  const [kind = "", name = ""] = file.split(".");
  const agent = kind === "Counter" ? Counter : Assistant;
  for (const statement of statements(layout, file)) host.sql(agent, name, statement);
  if (!fixtures(layout).includes(`${file}.1`)) return;
  const children = host.sql<{ class: string; name: string }>(
    agent,
    name,
    "SELECT class, name FROM cf_agents_sub_agents ORDER BY created_at"
  );
  children.forEach((child, index) => {
    const path = [`${child.class}\0${child.name}`];
    for (const statement of statements(layout, `${file}.${index + 1}`)) {
      host.sql(agent, name, { path, isNew: true }, statement);
    }
  });
}

export function statements(layout: Fixtures, file: string): string[] {
  const path = join(FIXTURES, layout, `${file}.sql`);
  if (!existsSync(path)) throw new Error(`There is no fixture ${file} of ${layout}.`);
  return readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "");
}

export function fixtures(layout: Fixtures): string[] {
  return readdirSync(join(FIXTURES, layout)).map((name) => name.replace(/\.sql$/, ""));
}

/** Calls a method of an object, as its `onRequest` does. */
export async function call<T = unknown>(
  host: TestHost,
  [object, name, method]: readonly [object: string, name: string, method: string],
  ...args: unknown[]
): Promise<T> {
  const url = `/agents/${object}/${name}?do=${method}`;
  const response = await host.fetch(url, { method: "POST", body: JSON.stringify(args) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${object}/${name} ${method}: ${response.status} ${text}`);
  return JSON.parse(text) as T;
}
