import { fileURLToPath } from "node:url";
import type { Plugin } from "rolldown";
import { defineConfig } from "tsdown";

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/**
 * `skills` of the root stays a reference to the file of its own: a namespace made in the root's file would bring all of it
 * into every bundle that uses one function of it.
 */
const skillsApart: Plugin = {
  name: "skills-apart",
  resolveId: (id, importer) =>
    id === "./skills/index.ts" && importer === source("./src/index.ts") ? { id: "./skills.js", external: true } : null
};

export default defineConfig({
  plugins: [skillsApart],
  // Types of imports that no file of ours has.
  copy: [{ from: "src/framework/skills/skills-module.d.ts", to: "dist" }],
  banner: ({ fileName }) =>
    /^(?:index|skills)\.d\.ts$/.test(fileName) ? { dts: '/// <reference path="./skills-module.d.ts" />' } : undefined,
  entry: {
    index: "src/index.ts",
    agent: "src/agent/index.ts",
    "agent-tools": "src/agent/agent-tools/index.ts",
    "ai-sdk": "src/model/agent-bridge/index.ts",
    inspect: "src/inspect/index.ts",
    observe: "src/observe/index.ts",
    client: "src/client/index.ts",
    react: "src/client/react.ts",
    session: "src/session/index.ts",
    skills: "src/skills/index.ts",
    channels: "src/channels/index.ts",
    "chat-sdk": "src/chat-sdk/index.ts",
    messengers: "src/messengers/index.ts",
    "messengers/teams": "src/messengers/teams.ts",
    "messengers/slack": "src/messengers/slack.ts",
    "messengers/discord": "src/messengers/discord.ts",
    "messengers/telegram": "src/messengers/telegram.ts",
    testing: "src/testing/index.ts",
    "testing/messengers": "src/testing/messengers/index.ts",
    extensions: "src/extensions/index.ts",
    codemode: "src/execute/codemode/index.ts",
    "tools/execute": "src/execute/index.ts",
    "tools/extensions": "src/extension-tools/index.ts",
    "tools/workspace": "src/workspace/tools/index.ts",
    workflows: "src/workflows/index.ts",
    build: "src/framework/build/index.ts",
    framework: "src/framework/index.ts",
    "server-entry": "src/framework/server-entry/index.ts",
    vite: "src/framework/vite/index.ts",
    // Named by build.js, at its side.
    streams: "src/framework/build/streams/index.ts",
    "serve/cli": "src/cli/bin.ts",
    "serve/front-worker": "src/framework/serve/front/worker.ts",
    "platform/workerd": "src/host/workerd/platform.ts",
    "platform/node": "src/testing/inprocess/platform.ts"
  },
  // Declarations are made for the package only, not for tests and examples.
  tsconfig: "tsconfig.build.json",
  format: "esm",
  platform: "neutral",
  target: "es2024",
  dts: true,
  sourcemap: true,
  // Kept out of the bundle: the package's own "imports" map picks the platform at the user's build.
  deps: { neverBundle: [/^cloudflare:/, /^node:/, "#platform", "react", "vite"] }
});
