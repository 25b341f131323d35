// Builds one contender's worker into the one minified module its process runs. The settings are the same for all, those
// of a user's build: package "exports" with the workerd conditions, platform modules left out.
import { readFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { gzipSync } from "node:zlib";
import { build, type Plugin } from "esbuild";
import { WORKER_BUILD } from "../tools/bundle-worker.ts";
import ownPackage from "../package.json" with { type: "json" };
import type { Contender } from "./contenders.ts";

export interface BundleSize {
  minifiedBytes: number;
  gzipBytes: number;
}

export async function bundleContender(contender: Contender, outputFile: string): Promise<BundleSize> {
  await build({
    ...WORKER_BUILD,
    entryPoints: [contender.entry],
    outfile: outputFile,
    minify: true,
    plugins: [
      nodeModulesByShortName,
      emailModule,
      ...(contender.isOpponent ? [] : [optionalPeersOfPackage]),
      ...(contender.hasPlugins ? await pluginsOfPackage() : [])
    ]
  });
  const code = readFileSync(outputFile);
  return { minifiedBytes: code.byteLength, gzipBytes: gzipSync(code, { level: 9 }).byteLength };
}

/** Built with the package, so not there before the contenders are prepared. */
async function pluginsOfPackage(): Promise<Plugin[]> {
  const { fastStreamsForEsbuild, zodLocalesForEsbuild } = await import("everthink/build");
  return [fastStreamsForEsbuild(), zodLocalesForEsbuild()];
}

/**
 * This repository has everthink's optional peers; a user who installs what `Contender.installs` names does not. Not for the
 * originals, which have such packages as dependencies.
 */
const optionalPeersOfPackage: Plugin = {
  name: "optional-peers-of-package",
  setup({ onResolve }) {
    const peers = Object.keys(ownPackage.peerDependenciesMeta).filter((name) => name !== "react");
    onResolve({ filter: new RegExp(`^(${peers.join("|")})(/.*)?$`) }, ({ path }) => ({ path, external: true }));
  }
};

/** Older packages say "path" or require("path") for what workerd knows as "node:path" and only by import. */
export const nodeModulesByShortName: Plugin = {
  name: "node-modules-by-short-name",
  setup({ onResolve, onLoad }) {
    const names = builtinModules.filter((name) => !name.startsWith("_")).join("|");
    onResolve({ filter: new RegExp(`^(${names})$`) }, ({ path }) => ({ path, namespace: "node-module" }));
    onLoad({ filter: /.*/, namespace: "node-module" }, ({ path }) => ({
      contents: `export * from "node:${path}"; export { default } from "node:${path}";`
    }));
  }
};

/** Plain workerd has no "cloudflare:email", and the originals import its one class. No benchmark sends mail. */
export const emailModule: Plugin = {
  name: "email-module",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^cloudflare:email$/ }, ({ path }) => ({ path, namespace: "email-module" }));
    onLoad({ filter: /.*/, namespace: "email-module" }, () => ({ contents: "export class EmailMessage {}" }));
  }
};
