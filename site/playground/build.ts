// Bundles the playground for the site: the in-process host, an agent and the client, with what a page has in place of
// Node's modules. Every `await` becomes a `then`, so that the page's AsyncLocalStorage sees it.
import { copyFileSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { build, type Plugin } from "esbuild";

const folder = import.meta.dirname;
const NODE_MODULES: Readonly<Record<string, string>> = {
  "node:async_hooks": "async-hooks",
  "node:buffer": "buffer",
  "node:crypto": "crypto",
  "node:diagnostics_channel": "diagnostics-channel",
  "node:sqlite": "sqlite",
  "node:v8": "v8",
  "node:vm": "vm"
};

const platform: Plugin = {
  name: "platform",
  setup({ onResolve }) {
    onResolve({ filter: /^#platform$/ }, () => ({ path: join(folder, "../../src/testing/inprocess/platform.ts") }));
    onResolve({ filter: /^node:/ }, ({ path }) => {
      const file = NODE_MODULES[path];
      return file === undefined
        ? { errors: [{ text: `The playground has no ${path}.` }] }
        : { path: join(folder, "node", `${file}.ts`) };
    });
  }
};

export async function buildPlayground(output: string): Promise<void> {
  mkdirSync(output, { recursive: true });
  const shared = {
    bundle: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    minify: true,
    legalComments: "linked",
    outdir: output
  } as const;
  await build({
    ...shared,
    entryPoints: [join(folder, "page.ts")],
    keepNames: true,
    plugins: [platform],
    inject: [join(folder, "request.ts"), join(folder, "node/buffer.ts"), join(folder, "node/process.ts")],
    supported: { "async-await": false, "async-generator": false, "for-await": false }
  });
  const noNode = {
    fs: join(folder, "node/none.ts"),
    path: join(folder, "node/none.ts"),
    crypto: join(folder, "node/none.ts")
  };
  await build({ ...shared, entryPoints: [join(folder, "main.ts")], alias: noNode });
  const wasm = createRequire(import.meta.url).resolve("sql.js/dist/sql-wasm.wasm");
  copyFileSync(wasm, join(output, "sql-wasm.wasm"));
}
