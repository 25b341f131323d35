import { describe, expect, test } from "vitest";
import { readBuiltConfig } from "./wrangler-config.ts";

const smallest = { name: "app", main: "index.js", compatibility_date: "2026-09-18" };

/** As the Cloudflare plugin for Vite writes it: with every field, most of them empty. */
const built = {
  ...smallest,
  configPath: "somewhere",
  no_bundle: true,
  compatibility_flags: ["enable_abortsignal_rpc"],
  rules: [{ type: "ESModule", globs: ["**/*.js", "**/*.mjs"] }],
  vars: { GREETING: "hello", LIMITS: { daily: 3 } },
  durable_objects: { bindings: [{ name: "AGENT", class_name: "Assistant" }] },
  migrations: [{ tag: "v1", new_sqlite_classes: ["Assistant"] }],
  worker_loaders: [{ binding: "LOADER" }],
  services: [{ binding: "SELF", service: "app", entrypoint: "Api" }],
  assets: {
    directory: "../client",
    binding: "ASSETS",
    not_found_handling: "single-page-application",
    run_worker_first: ["/agents/*"]
  },
  secrets: { required: ["API_KEY"] },
  kv_namespaces: [],
  queues: { producers: [], consumers: [] },
  triggers: {},
  workflows: [],
  cloudchamber: {},
  observability: { enabled: true }
};

describe("a wrangler configuration", () => {
  test("of a Vite build becomes a manifest", () => {
    expect(readBuiltConfig(built)).toEqual({
      main: "index.js",
      rules: [{ type: "ESModule", globs: ["**/*.js", "**/*.mjs"] }],
      compatibilityDate: "2026-09-18",
      compatibilityFlags: ["enable_abortsignal_rpc"],
      objects: [{ className: "Assistant", key: "everthink-Assistant", hasSql: true }],
      bindings: [
        { type: "object", name: "AGENT", className: "Assistant" },
        { type: "loader", name: "LOADER" },
        { type: "self", name: "SELF", entrypoint: "Api" },
        { type: "assets", name: "ASSETS" },
        { type: "text", name: "GREETING", value: "hello" },
        { type: "json", name: "LIMITS", value: { daily: 3 } }
      ],
      requiredSecrets: ["API_KEY"],
      assets: {
        directory: "../client",
        htmlHandling: "auto-trailing-slash",
        notFoundHandling: "single-page-application",
        workerFirst: ["/agents/*"]
      },
      warnings: []
    });
  });

  test.each([
    [
      { kv_namespaces: [{ binding: "CACHE", id: "1" }] },
      "The binding CACHE (kv_namespaces) is not available here: env.CACHE is undefined."
    ],
    [{ ai: { binding: "AI" } }, "The binding AI (ai) is not available here: env.AI is undefined."],
    [
      { queues: { producers: [{ binding: "JOBS", queue: "q" }] } },
      "The binding JOBS (queues) is not available here: env.JOBS is undefined."
    ],
    [{ send_email: [{ name: "MAIL" }] }, "The binding MAIL (send_email) is not available here: env.MAIL is undefined."],
    [
      { invented_tomorrow: [{ binding: "NEW" }] },
      "The binding NEW (invented_tomorrow) is not available here: env.NEW is undefined."
    ],
    [
      { services: [{ binding: "AUTH", service: "auth" }] },
      "The binding AUTH is not available here: it is another Worker (auth)."
    ],
    [
      { durable_objects: { bindings: [{ name: "FAR", class_name: "Far", script_name: "other" }] } },
      "The binding FAR is not available here: its objects live in another Worker (other)."
    ],
    [{ triggers: { crons: ["0 9 * * *"] } }, "Cron triggers are not run here."]
  ])("%j is warned about", (part, warning) => {
    const manifest = readBuiltConfig({ ...smallest, ...part });
    expect(manifest.warnings).toEqual([warning]);
    expect(manifest.bindings).toEqual([]);
  });

  test("may declare its objects as exports", () => {
    const exports = {
      Assistant: { type: "durable-object", storage: "sqlite" },
      Old: { type: "durable-object", storage: "legacy-kv" },
      Api: { type: "worker" },
      First: { type: "durable-object", state: "renamed", renamed_to: "Second" },
      Second: { type: "durable-object", state: "renamed", renamed_to: "Third" },
      Third: { type: "durable-object", storage: "sqlite" },
      Gone: { type: "durable-object", state: "deleted" }
    };
    expect(readBuiltConfig({ ...smallest, exports }).objects).toEqual([
      { className: "Assistant", key: "everthink-Assistant", hasSql: true },
      { className: "Old", key: "everthink-Old", hasSql: false },
      { className: "Third", key: "everthink-First", hasSql: true }
    ]);
  });

  test.each([
    [{ ...smallest, main: undefined }, 'names no "main"'],
    [{ ...smallest, compatibility_date: undefined }, 'no "compatibility_date"'],
    ["text", 'names no "main"'],
    [null, 'names no "main"']
  ])("%j is refused", (config, message) => {
    expect(() => readBuiltConfig(config)).toThrow(expect.objectContaining({ name: "UnusableBuildError" }));
    expect(() => readBuiltConfig(config)).toThrow(message);
  });
});
