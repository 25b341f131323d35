import { defineConfig } from "tsdown";

export default defineConfig({
  entry: {
    index: "src/index.ts",
    agent: "src/agent/index.ts",
    "agent-tools": "src/agent-tools/index.ts",
    observe: "src/observe/index.ts",
    client: "src/client/index.ts",
    react: "src/client/react.ts",
    session: "src/session/index.ts",
    testing: "src/testing/index.ts",
    extensions: "src/extensions/index.ts",
    "tools/execute": "src/execute/index.ts",
    "tools/extensions": "src/extensions/tools/index.ts",
    "tools/workspace": "src/workspace/tools/index.ts",
    workflows: "src/workflows/index.ts",
    build: "src/framework/build/index.ts",
    // Named by build.js, at its side.
    streams: "src/framework/build/streams/index.ts",
    "serve/cli": "src/framework/serve/cli.ts",
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
  deps: { neverBundle: [/^cloudflare:/, /^node:/, "#platform", "react"] }
});
