// The reference of settings, events and limits says what the code does.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { channelOf } from "../../src/observe/events.ts";
import { resolveOptions } from "../../src/agent/options.ts";
import { Think } from "../../src/index.ts";
import { createTestHost } from "../../src/testing/index.ts";
import { eventsOf } from "./declared-events.ts";
import { read } from "./samples.ts";

const page = read("docs/configuration.md");

/** The cells of a page's rows that begin with a name. */
function rowsOf(text: string): readonly (readonly string[])[] {
  return [...text.matchAll(/^\| (`.*) \|$/gm)].map(([, row = ""]) => row.split(" | "));
}

const sectionOf = (title: string) => page.split(`\n## ${title}\n`)[1]?.split("\n## ")[0] ?? "";

/** What stands in the column "Default" for a value that is no JSON. */
const IN_WORDS: Readonly<Record<string, string>> = {
  mcpFetch: "`fetch`",
  observability: "diagnostics channels",
  workspace: "a workspace in SQLite"
};

function asWritten(name: string, value: unknown): string {
  if (value === undefined) return "none";
  if (value === Infinity) return "no limit";
  return IN_WORDS[name] ?? `\`${JSON.stringify(value)}\``;
}

test("the page has every setting of the class with the default that it has, and no other", async () => {
  let started: Readonly<Record<string, unknown>> = {};
  class Defaults extends Think {
    declare getModel: Think["getModel"];
    override onStart(): void {
      const { ctx: _ctx, env: _env, ...settings } = { ...this } as Record<string, unknown>;
      started = settings;
    }
  }
  await createTestHost({ agents: { Defaults } }).get(Defaults, "a");
  const listed = rowsOf(page.split("\n## `static options`")[0] ?? "").map(([name, value]) => `${name} ${value}`);
  const actual = Object.entries(started).map(([name, value]) => `\`${name}\` ${asWritten(name, value)}`);
  expect(listed.toSorted()).toEqual(actual.toSorted());
});

test("the page has every option of the class with its default", () => {
  const { identityIsDefault: _, ...options } = resolveOptions();
  const listed = rowsOf(sectionOf("`static options`")).map(([name, value = ""]) => [
    name?.slice(1, -1),
    JSON.parse(value.slice(1, -1)) as unknown
  ]);
  expect(Object.fromEntries(listed)).toEqual(options);
});

test("every method that the page names is one of the class", () => {
  const names = rowsOf(sectionOf("Methods to override")).flatMap(([cell = ""]) => [...cell.matchAll(/`(\w+)`/g)]);
  expect(names.length).toBeGreaterThan(30);
  expect(names.flatMap(([, name = ""]) => (name in Think.prototype ? [] : [name]))).toEqual([]);
});

test("every variable that the page names is read by the package or by a starter", () => {
  const folders = ["src", "starters/shared"].map((folder) => new URL(`../../${folder}/`, import.meta.url));
  const sources = folders
    .flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: "utf8" })
        .filter((name) => name.endsWith(".ts") && !name.includes("node_modules") && existsSync(new URL(name, folder)))
        .map((name) => readFileSync(new URL(name, folder), "utf8"))
    )
    .join("\n");
  const names = rowsOf(sectionOf("Variables")).flatMap(([cell = ""]) => [...cell.matchAll(/`(\w+)`/g)]);
  expect(names.length).toBeGreaterThan(5);
  for (const [, name = ""] of names) expect(sources).toContain(name);
});

test("the page of events has every event with its channel and its fields, and no other", () => {
  const actual = eventsOf(read("src/observe/events.ts")).map(
    ({ name, fields }) => `${name} | ${channelOf(name)} | ${fields.join(", ")}`
  );
  const listed = [...read("docs/events.md").matchAll(/^\| `([\w:-]+)` \| `(\w+)` \| ([^|]*) \|/gm)].map(
    ([, name, channel, fields = ""]) => `${name} | ${channel} | ${fields.replaceAll("`", "").trim()}`
  );
  expect(listed.length).toBeGreaterThan(100);
  expect(listed.toSorted()).toEqual(actual.toSorted());
});
