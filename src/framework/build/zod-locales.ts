// Bundler plugins that leave out the languages of zod's messages that were not asked for. `z` is one object with all of
// zod in it, so no bundler can drop them by itself: over fifty languages, a quarter of a megabyte minified, a fifth of
// an agent's Worker, read at every start. English is always there; a language that was left out says so when it is used.
import { esbuildPluginOf, pluginOf, type BundlerPlugin, type EsbuildPlugin, type ModuleChange } from "./plugins.ts";

/** One language in zod's list of them, its name and its file. */
const LOCALE = /^export \{ default as (\w+) \} from "\.\/[\w-]+\.js";$/gm;

/**
 * For Vite (also with Cloudflare's plugin), Rolldown and Rollup. Names the languages of `z.locales` that stay; without
 * a name only English does. Works in builds; a dev server that bundles its dependencies beforehand is as it was.
 *
 * @example
 * export default defineConfig({ plugins: [cloudflare(), zodLocales("de", "fr")] });
 */
export function zodLocales(...kept: readonly string[]): BundlerPlugin {
  return pluginOf(leavingOut(kept));
}

/**
 * For esbuild.
 *
 * @example
 * await build({ entryPoints: ["worker.ts"], bundle: true, plugins: [zodLocalesForEsbuild()] });
 */
export function zodLocalesForEsbuild(...kept: readonly string[]): EsbuildPlugin {
  return esbuildPluginOf(leavingOut(kept));
}

function leavingOut(kept: readonly string[]): ModuleChange {
  return {
    name: "everthink:zod-locales",
    files: /[\\/]node_modules[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/,
    inPages: true,
    change: ({ code }) => withLocales(code, new Set(["en", ...kept]))
  };
}

/** The list of languages with all but the kept ones replaced by a function that says what to do. */
function withLocales(code: string, kept: ReadonlySet<string>): string | undefined {
  const known = new Set([...code.matchAll(LOCALE)].map(([, name = ""]) => name));
  // Another zod, which lists them in another way, stays whole.
  if (!known.has("en")) return undefined;
  const unknown = [...kept].filter((name) => !known.has(name));
  if (unknown.length > 0) {
    throw new Error(`zod has no locale "${unknown.join('", "')}". zodLocales() takes: ${[...known].join(", ")}.`);
  }
  const shortened = code.replaceAll(LOCALE, (line, name: string) =>
    kept.has(name) ? line : `export const ${name} = /* @__PURE__ */ leftOut("${name}");`
  );
  return `${LEFT_OUT} ${shortened}`;
}

/** On the first line, so that no line number changes. */
const LEFT_OUT =
  "const leftOut = (name) => () => { throw new Error(" +
  '`zod\'s locale "${name}" was left out of this build: add its name to zodLocales().`); };';
