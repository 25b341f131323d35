import { fileURLToPath } from "node:url";
import type { Plugin } from "rolldown";
import { defineConfig } from "tsdown";
import { ENTRY_POINTS } from "./tools/entry-points.ts";

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/**
 * `skills` of the root stays a reference to the file of its own: a namespace made in the root's file would bring all of it
 * into every bundle that uses one function of it.
 */
const skillsApart: Plugin = {
  name: "skills-apart",
  resolveId: (id, importer) =>
    id === "./features/skills/index.ts" && importer === source("./src/index.ts")
      ? { id: "./skills.js", external: true }
      : null
};

const everywhere = {
  // Declarations are made for the package only, not for tests and examples.
  tsconfig: "tsconfig.build.json",
  format: "esm",
  platform: "neutral",
  target: "es2024",
  sourcemap: true
} as const;

const ofPackage = defineConfig({
  ...everywhere,
  plugins: [skillsApart],
  // Types of imports that no file of ours has.
  copy: [{ from: "src/framework/skills/skills-module.d.ts", to: "dist" }],
  banner: ({ fileName }) =>
    /^(?:index|skills)\.d\.ts$/.test(fileName) ? { dts: '/// <reference path="./skills-module.d.ts" />' } : undefined,
  entry: {
    ...ENTRY_POINTS,
    // Named by build.js, at its side.
    streams: "src/framework/build/streams/index.ts",
    "serve/cli": "src/cli/bin.ts",
    "platform/workerd": "src/host/workerd/platform.ts",
    "platform/node": "src/testing/inprocess/platform.ts"
  },
  dts: true,
  // A test pins the names that each entry exports.
  inputOptions: { preserveEntrySignatures: "allow-extension" },
  outputOptions: {
    codeSplitting: {
      includeDependenciesRecursively: false,
      // A class of which the package installs the capabilities stands alone: a Worker that imports a function beside it, such as
      // `routeAgentRequest`, does not carry them.
      groups: [
        {
          debugName: "classes",
          name: (id) => /src\/(agent-class\/agent|think\/think)\.ts$/.exec(id)?.[1]?.replace("/", "-") ?? null
        }
      ]
    }
  },
  // Kept out of the bundle: the package's own "imports" map picks the platform at the user's build.
  deps: { neverBundle: [/^cloudflare:/, /^node:/, "#platform", /^react(\/|$)/, "vite"] }
});

/** workerd is given this file alone: it shares no module with the others. */
const frontWorker = defineConfig({
  ...everywhere,
  entry: { "serve/front-worker": "src/framework/serve/front/worker.ts" },
  clean: false,
  dts: false
});

export default [ofPackage, frontWorker];
