// Bundler plugins that give the AI SDK streams written in JavaScript. workerd's own cost it about half of the time of a
// short turn: `streamText` pipes every chunk through some fifteen of them. Only the SDK's own modules are changed, by an
// import that shadows two names; no global is replaced, and whatever native meets such a stream gets a native one.
import { fileURLToPath } from "node:url";
import { withFastStreams } from "../../model/streams/inject.ts";
import { esbuildPluginOf, pluginOf, type BundlerPlugin, type EsbuildPlugin, type ModuleChange } from "./plugins.ts";

const FAST_STREAMS: ModuleChange = {
  name: "everthink:fast-streams",
  files: /[\\/]node_modules[\\/]ai[\\/]dist[\\/].*\.m?js$/,
  // Pages do not run the SDK's loop.
  inPages: false,
  // By its file: the SDK's folder may not see this package by name.
  change: (module) => withFastStreams(module, fileURLToPath(new URL("./streams.js", import.meta.url)))
};

/**
 * For Vite (also with Cloudflare's plugin), Rolldown and Rollup. Works in builds; a dev server that bundles its
 * dependencies beforehand is as it was.
 *
 * @example
 * export default defineConfig({ plugins: [cloudflare(), fastStreams()] });
 */
export function fastStreams(): BundlerPlugin {
  return pluginOf(FAST_STREAMS);
}

/**
 * For esbuild.
 *
 * @example
 * await build({ entryPoints: ["worker.ts"], bundle: true, plugins: [fastStreamsForEsbuild()] });
 */
export function fastStreamsForEsbuild(): EsbuildPlugin {
  return esbuildPluginOf(FAST_STREAMS);
}
