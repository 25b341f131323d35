// Bundler plugins that give the AI SDK streams written in JavaScript. workerd's own cost it about half of the time of a
// short turn: `streamText` pipes every chunk through some fifteen of them. Only the SDK's own modules are changed, by an
// import that shadows two names; no global is replaced, and whatever native meets such a stream gets a native one.
import { fileURLToPath } from "node:url";
import { readFile } from "node:fs/promises";
import { withFastStreams } from "../../model/streams/inject.ts";

/** A plugin of Vite, Rolldown or Rollup, as far as this one needs their types. */
export interface FastStreamsPlugin {
  readonly name: string;
  readonly enforce: "pre";
  /** Pages do not run the SDK's loop. */
  applyToEnvironment(environment: { readonly name: string }): boolean;
  transform(code: string, id: string): { code: string; map: null } | undefined;
}

/** A plugin of esbuild, as far as this one needs its types. */
export interface FastStreamsEsbuildPlugin {
  readonly name: string;
  setup(build: {
    onLoad(
      options: { filter: RegExp },
      load: (file: { path: string }) => Promise<{ contents: string; loader: "js" } | undefined>
    ): void;
  }): void;
}

const NAME = "everthink:fast-streams";

/**
 * For Vite (also with Cloudflare's plugin), Rolldown and Rollup. Works in builds; a dev server that bundles its
 * dependencies beforehand is as it was.
 *
 * @example
 * export default defineConfig({ plugins: [cloudflare(), fastStreams()] });
 */
export function fastStreams(): FastStreamsPlugin {
  return {
    name: NAME,
    enforce: "pre",
    applyToEnvironment: ({ name }) => name !== "client",
    transform(code, id) {
      const faster = withFastStreams({ id, code }, streamsFile());
      // The import is on the first line: every other position stays.
      return faster === undefined ? undefined : { code: faster, map: null };
    }
  };
}

/**
 * For esbuild.
 *
 * @example
 * await build({ entryPoints: ["worker.ts"], bundle: true, plugins: [fastStreamsForEsbuild()] });
 */
export function fastStreamsForEsbuild(): FastStreamsEsbuildPlugin {
  return {
    name: NAME,
    setup({ onLoad }) {
      onLoad({ filter: /[\\/]node_modules[\\/]ai[\\/]dist[\\/].*\.m?js$/ }, async ({ path }) => {
        const contents = withFastStreams({ id: path, code: await readFile(path, "utf8") }, streamsFile());
        return contents === undefined ? undefined : { contents, loader: "js" };
      });
    }
  };
}

/** By its file: the SDK's folder may not see this package by name. */
function streamsFile(): string {
  return fileURLToPath(new URL("./streams.js", import.meta.url));
}
