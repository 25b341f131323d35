import { describe, expect, test } from "vitest";
import { discoverThinkApp } from "../manifest/discover.ts";
import { parseJsonc } from "../serve/jsonc.ts";
import { diagnoseThinkWorkerConfig } from "./diagnose-config.ts";
import { createThinkWorkerConfig, mergeThinkWorkerConfig, selectEnvironment } from "./merge.ts";
import { parseWranglerConfig } from "./read-wrangler.ts";
import { createThinkWorkerDefaults, inferRequiredBindings, type ThinkWorkerConfig } from "./worker-config.ts";
import { writeWorkerConfig } from "./write-config.ts";

const support = discoverThinkApp({ files: ["agents/support.ts", "agents/support/agents/researcher.ts"] });
const merged = (userConfig: ThinkWorkerConfig) => createThinkWorkerConfig(support, { userConfig });
const complete = createThinkWorkerDefaults(support);
const codes = (config: ThinkWorkerConfig, manifest = support) =>
  diagnoseThinkWorkerConfig(manifest, config).map(({ code, severity }) => `${severity} ${code}`);

describe("the inferred configuration", () => {
  test("holds what one agent with a sub-agent needs", () => {
    expect(complete).toEqual({
      name: "think-app",
      main: "virtual:everthink/entry",
      compatibility_date: "2026-09-18",
      compatibility_flags: ["nodejs_compat"],
      durable_objects: { bindings: [{ name: "ThinkAgent_Support", class_name: "ThinkAgent_Support" }] },
      migrations: [{ tag: "v1", new_sqlite_classes: ["ThinkAgent_Support"] }],
      assets: {
        not_found_handling: "single-page-application",
        run_worker_first: ["/agents/*", "/messengers/*", "/__think/*"]
      }
    });
    expect(createThinkWorkerDefaults(discoverThinkApp({ files: [] })).migrations).toEqual([]);
    expect(inferRequiredBindings(support)).toEqual({
      durable_objects: [{ name: "ThinkAgent_Support", class_name: "ThinkAgent_Support" }],
      worker_loaders: [],
      workflows: []
    });
  });
});

describe("the merge", () => {
  test("lets the user's scalars win and unites lists, inferred first", () => {
    const { config } = merged({
      name: "shop",
      compatibility_date: "2026-01-01",
      compatibility_flags: ["enable_abortsignal_rpc", "nodejs_compat"],
      assets: { directory: "public", run_worker_first: ["/api/*", "/agents/*"] }
    });
    expect(config).toMatchObject({ name: "shop", compatibility_date: "2026-01-01" });
    expect(config.compatibility_flags).toEqual(["nodejs_compat", "enable_abortsignal_rpc"]);
    expect(config.assets).toEqual({
      directory: "public",
      not_found_handling: "single-page-application",
      run_worker_first: ["/agents/*", "/messengers/*", "/__think/*", "/api/*"]
    });
    expect(merged({ assets: { run_worker_first: true } }).config.assets?.run_worker_first).toBe(true);
  });

  test("keeps the user's name for a generated class and every field of every binding", () => {
    const bindings = [
      { name: "SUPPORT", class_name: "ThinkAgent_Support", environment: "production" },
      { name: "OTHER", class_name: "ThinkAgent_Support", script_name: "another-worker" }
    ];
    expect(merged({ durable_objects: { bindings } }).config.durable_objects?.bindings).toEqual(bindings);
    const elsewhere = bindings.slice(1);
    expect(merged({ durable_objects: { bindings: elsewhere } }).config.durable_objects?.bindings).toEqual([
      ...elsewhere,
      { name: "ThinkAgent_Support", class_name: "ThinkAgent_Support" }
    ]);
  });

  test("reports a binding name that is taken", () => {
    const bindings = [{ name: "ThinkAgent_Support", class_name: "Other" }];
    const { config, diagnostics } = merged({ durable_objects: { bindings } });
    expect(diagnostics).toMatchObject([{ code: "durable-object-binding-conflict", severity: "error" }]);
    expect(config.durable_objects?.bindings).toEqual(bindings);
  });

  test.each<[string, ThinkWorkerConfig["migrations"], ThinkWorkerConfig["migrations"]]>([
    ["none", undefined, [{ tag: "v1", new_sqlite_classes: ["ThinkAgent_Support"] }]],
    ["covered", [{ tag: "a", new_sqlite_classes: ["ThinkAgent_Support"] }], undefined],
    ["covered by a rename", [{ tag: "a", renamed_classes: [{ from: "X", to: "ThinkAgent_Support" }] }], undefined],
    [
      "covered by a transfer",
      [{ tag: "a", transferred_classes: [{ from: "X", from_script: "s", to: "ThinkAgent_Support" }] }],
      undefined
    ],
    [
      "missing",
      [{ tag: "a", new_classes: ["X"], deleted_classes: ["Y"] }],
      [
        { tag: "a", new_classes: ["X"], deleted_classes: ["Y"] },
        { tag: "think-generated-v1", new_sqlite_classes: ["ThinkAgent_Support"] }
      ]
    ],
    [
      "missing, with a tag taken",
      [{ tag: "think-generated-v1", new_sqlite_classes: ["X"] }],
      [
        { tag: "think-generated-v1", new_sqlite_classes: ["X"] },
        { tag: "think-generated-v2", new_sqlite_classes: ["ThinkAgent_Support"] }
      ]
    ]
  ])("migrations: %s", (_case, user, expected) => {
    expect(merged(user === undefined ? {} : { migrations: user }).config.migrations).toEqual(expected ?? user);
  });

  test("warns of a class that is created twice", () => {
    const migrations = ["a", "b"].map((tag) => ({ tag, new_sqlite_classes: ["ThinkAgent_Support"] }));
    expect(merged({ migrations }).diagnostics).toMatchObject([
      { code: "duplicate-migration-class", severity: "warning" }
    ]);
  });

  test("reads the selected environment as Wrangler does: bindings are not inherited", () => {
    const config = { name: "a", durable_objects: { bindings: [] }, env: { staging: { name: "b" } } };
    expect(selectEnvironment(config, "staging")).toEqual({ name: "b" });
    expect(selectEnvironment(config, "production")).toBe(config);
  });
});

describe("diagnostics of a configuration", () => {
  test.each<[string, ThinkWorkerConfig, string[]]>([
    ["complete", complete, []],
    ["another main", { ...complete, main: "src/worker.ts" }, ["error unexpected-worker-main"]],
    ["no main", { ...complete, main: undefined as never }, []],
    ["the older id", { ...complete, main: "virtual:think/entry" }, ["info deprecated-virtual-id"]],
    ["no binding", { ...complete, durable_objects: {} }, ["error missing-durable-object-class"]],
    ["no migration", { ...complete, migrations: [] }, ["error missing-migration-class"]],
    [
      "a class without a file",
      {
        ...complete,
        migrations: [...(complete.migrations ?? []), { tag: "x", new_sqlite_classes: ["ThinkAgent_Gone"] }]
      },
      ["error agent-class-removed"]
    ],
    [
      "a class without a file that was deleted",
      {
        ...complete,
        migrations: [
          { tag: "a", new_sqlite_classes: ["ThinkAgent_Gone", "ThinkAgent_Support"] },
          { tag: "b", deleted_classes: ["ThinkAgent_Gone"] }
        ]
      },
      []
    ],
    [
      "other routes first",
      { ...complete, assets: { run_worker_first: ["/__think/*"] } },
      ["warning custom-agent-routing"]
    ],
    [
      "internal routes not first",
      { ...complete, assets: { run_worker_first: ["/agents/*"] } },
      ["warning custom-think-route-surface-routing"]
    ],
    ["everything first", { ...complete, assets: { run_worker_first: ["/*"] } }, []],
    [
      "a bound sub-agent",
      {
        ...complete,
        durable_objects: {
          bindings: [
            ...(complete.durable_objects?.bindings ?? []),
            { name: "R", class_name: "ThinkSubAgent_Support_Researcher" }
          ]
        }
      },
      ["info facet-binding-unneeded"]
    ]
  ])("%s", (_case, config, expected) => {
    expect(codes(config)).toEqual(expected);
  });

  test("routing that an app entry may do itself is only noted", () => {
    const manifest = discoverThinkApp({ files: ["agents/support.ts", "src/server.ts"] });
    expect(codes({ ...complete, assets: { run_worker_first: ["/api/*"] } }, manifest)).toEqual([
      "info custom-agent-routing",
      "info custom-think-route-surface-routing"
    ]);
  });

  test("scripts of skills need a loader", () => {
    const manifest = discoverThinkApp({ files: ["agents/support.ts", "agents/support/skills/x/scripts/a.ts"] });
    expect(codes(complete, manifest)).toEqual(["error missing-worker-loader-binding"]);
    expect(codes({ ...complete, worker_loaders: [{ binding: "LOADER" }] }, manifest)).toEqual([]);
  });

  test("allowNonVirtualMain keeps a main of the user's", () => {
    const options = { allowNonVirtualMain: true };
    expect(diagnoseThinkWorkerConfig(support, { ...complete, main: "src/worker.ts" }, options)).toEqual([]);
  });

  test("a renamed file is told the migration that keeps its data", () => {
    const help = discoverThinkApp({ files: ["agents/help.ts"] });
    const [found] = diagnoseThinkWorkerConfig(help, createThinkWorkerConfig(help, { userConfig: complete }).config, {
      userConfig: complete
    });
    expect(found?.code).toBe("agent-class-removed");
    expect(found?.message).toContain('{ "from": "ThinkAgent_Support", "to": "ThinkAgent_Help" }');
  });
});

describe("the user's file", () => {
  test.each([
    ["wrangler.jsonc", '{ "name": "a", // comment\n }', { parsed: { name: "a" } }],
    ["wrangler.jsonc", '{ "name": ', { error: "ValueExpected at line 1, column 11" }],
    ["wrangler.json", "[]", { error: "It holds no object." }],
    [
      "wrangler.toml",
      '[[durable_objects.bindings]]\nname = "SUPPORT"\nclass_name = "ThinkAgent_Support"',
      { parsed: { durable_objects: { bindings: [{ name: "SUPPORT", class_name: "ThinkAgent_Support" }] } } }
    ],
    ["wrangler.toml", "name = ", { error: expect.any(String) }]
  ])("%s: %j", (path, text, expected) => {
    expect(parseWranglerConfig(path, text)).toEqual(expected);
  });

  test("writing adds what is missing and keeps comments, order and values", () => {
    const text = `{
  // the shop
  "name": "shop",
  "durable_objects": {
    "bindings": [{ "name": "CART", "class_name": "Cart" }] // ours
  },
  "migrations": [{ "tag": "v1", "new_sqlite_classes": ["Cart"] }]
}
`;
    const user = parseJsonc(text) as ThinkWorkerConfig;
    const { config } = merged(user);
    const written = writeWorkerConfig(text, user, config);
    expect(parseJsonc(written)).toEqual(config);
    expect(written).toContain("// the shop");
    expect(written).toContain("// ours");
    expect(writeWorkerConfig(written, config, merged(config).config)).toBe(written);
  });

  test("a file that does not exist yet gets everything", () => {
    expect(parseJsonc(writeWorkerConfig("", {}, complete))).toEqual(complete);
  });
});

test("inferred and user configuration are told apart in either order", () => {
  const user = { name: "shop", compatibility_flags: ["own"] };
  const defaults = createThinkWorkerDefaults(support);
  const expected = createThinkWorkerConfig(support, { userConfig: user });
  expect(mergeThinkWorkerConfig(defaults, user)).toEqual(expected);
  expect(mergeThinkWorkerConfig(user, defaults)).toEqual(expected);
  expect(expected.config.name).toBe("shop");
  // Written by hand, neither can be known: the first is the inferred one.
  expect(mergeThinkWorkerConfig({ name: "inferred" }, { name: "user" }).config.name).toBe("user");
});
