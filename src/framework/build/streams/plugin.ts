// Bundler plugins that give the AI SDK streams written in JavaScript. workerd's own cost it about half of the time of a
// short turn: `streamText` pipes every chunk through some fifteen of them. Only the SDK's own modules are changed, by an
// import that shadows two names in their scope. No global is replaced, and a native stream that meets such a stream is
// given a native one. A program built without the plugin works the same, only slower.
import { fileURLToPath } from "node:url";
import { esbuildPluginOf, pluginOf, type BundlerPlugin, type EsbuildPlugin, type ModuleChange } from "../plugins.ts";

/** Files of the package `ai` itself, not of its providers: their streams end in bodies. */
const SDK_FILE = /[\\/]node_modules[\\/]ai[\\/]dist[\\/].*\.m?js$/;
const IS_MODULE = /^export\s*[{*]/m;
const MAKES_STREAMS = /\bnew (?:Readable|Transform)Stream\b/;

/** By file, because the SDK's folder may not see this package by name. Beside the built plugin. */
const STREAMS_FILE = fileURLToPath(new URL("./streams.js", import.meta.url));

/**
 * For Vite (also with Cloudflare's plugin), Rolldown and Rollup. Works in builds; a dev server that bundles its
 * dependencies beforehand is as it was.
 *
 * @example
 * export default defineConfig({ plugins: [cloudflare(), fastStreams()] });
 */
export function fastStreams(): BundlerPlugin {
  return pluginOf(streamsFrom(STREAMS_FILE));
}

/**
 * For esbuild.
 *
 * @example
 * await build({ entryPoints: ["worker.ts"], bundle: true, plugins: [fastStreamsForEsbuild()] });
 */
export function fastStreamsForEsbuild(): EsbuildPlugin {
  return esbuildPluginOf(streamsFrom(STREAMS_FILE));
}

/** Gives the SDK's modules the streams that the file `streams` exports. */
export function streamsFrom(streams: string): ModuleChange {
  return {
    name: "everthink:fast-streams",
    files: SDK_FILE,
    // Pages do not run the SDK's loop.
    inPages: false,
    change({ code }) {
      if (!IS_MODULE.test(code) || !MAKES_STREAMS.test(code)) return undefined;
      // On the first line, so that no line number changes.
      return `import { ReadableStream, TransformStream } from ${JSON.stringify(streams)}; ${code}`;
    }
  };
}
