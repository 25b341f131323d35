// Bundles a worker against the published packages of the original, of which each layout of data has one version in
// test/takeover/packages. Only tools and tests use it.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { build, type Plugin } from "esbuild";
import { emailModule, nodeModulesByShortName } from "../bench/bundle.ts";
import { WORKER_BUILD } from "./bundle-worker.ts";

export type OriginalLayout = "layout-a" | "layout-b";
/** Versions between the two layouts, of which only open submissions are looked at. */
export type OriginalBetween = "think-0.15" | "think-0.18";

export const PACKAGES = join(import.meta.dirname, "..", "test", "takeover", "packages");

/** They are installed by `npm run takeover:fixtures`. */
export const isOriginalInstalled = existsSync(join(PACKAGES, "node_modules"));

export async function bundleOriginal(
  layout: OriginalLayout | OriginalBetween,
  { entry, outputFile }: { entry: string; outputFile: string }
): Promise<void> {
  await build({
    ...WORKER_BUILD,
    entryPoints: [entry],
    outfile: outputFile,
    // Here it is no optional peer.
    external: WORKER_BUILD.external.filter((name) => name !== "just-bash"),
    plugins: [nodeModulesByShortName, emailModule, packagesOf(join(PACKAGES, layout))]
  });
}

/** The project's own files name packages that are not installed beside them. */
function packagesOf(folder: string): Plugin {
  return {
    name: "packages-of-the-original",
    setup({ onResolve, resolve }) {
      onResolve({ filter: /^(?:@cloudflare\/|agents|ai$|zod$)/ }, ({ path, kind, importer, pluginData }) =>
        pluginData === folder || importer.startsWith(PACKAGES)
          ? undefined
          : resolve(path, { kind, resolveDir: folder, pluginData: folder })
      );
    }
  };
}
