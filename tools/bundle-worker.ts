// Turns a worker written in TypeScript into the one module workerd runs, the way a user's build would: package imports
// go through "exports" and "imports" with the workerd conditions, so a worker of this repository that imports
// "everthink/agent" gets what is in dist/. Type checking is left to tsc.
import { build, type BuildOptions } from "esbuild";

export interface BundleOptions {
  entry: string;
  outputFile: string;
  minify?: boolean;
}

export interface Bundle {
  sizeBytes: number;
  /** Names the worker's module exports. */
  exports: readonly string[];
}

/** What every bundle of a Worker in this repository has in common. */
export const WORKER_BUILD = {
  bundle: true,
  format: "esm",
  platform: "neutral",
  target: "es2024",
  conditions: ["workerd", "worker", "browser", "import"],
  mainFields: ["module", "main"],
  // Of the optional peers none is part of a project that does not say so.
  external: ["cloudflare:*", "node:*", "just-bash", "@mdream/js", "unpdf"],
  // As Wrangler does for Workers with nodejs_compat: the Chat SDK's adapters name Node's modules without a prefix.
  alias: Object.fromEntries(
    ["async_hooks", "crypto", "dns", "http", "https", "net", "stream", "zlib"].map((name) => [name, `node:${name}`])
  ),
  // A class's name is its identity: it is looked up in ctx.exports and sent to clients.
  keepNames: true,
  // The repository's own tsconfig maps imports to src/; a user's build does not have it.
  tsconfigRaw: { compilerOptions: { useDefineForClassFields: true } },
  logLevel: "silent"
} satisfies BuildOptions;

export async function bundleWorker(options: BundleOptions): Promise<Bundle> {
  const result = await build({
    ...WORKER_BUILD,
    entryPoints: [options.entry],
    outfile: options.outputFile,
    minify: options.minify ?? false,
    metafile: true
  });
  const [output] = Object.values(result.metafile.outputs);
  return { sizeBytes: output?.bytes ?? 0, exports: output?.exports ?? [] };
}
