// A generation's page as one script, with exactly the packages its folder asks for. npm may hoist another generation's
// copy of a package next to the hooks; what the folder's own dependencies resolve to wins, as in a user's project.
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";

export type GenerationName = "newest" | "june";

/** Packages that more than one generation brings and the hooks import. */
const SHARED = /^(ai|@ai-sdk\/react|react|react-dom)(\/.*)?$/;
/** Files of the packages that hold the hooks. */
const HOOKS = /[/\\]node_modules[/\\](agents|@cloudflare[/\\]ai-chat)[/\\]dist[/\\]/;

/** A file of every generation's folder. */
export type PageFile = "chat-page.tsx" | "mcp-page.tsx";

export async function bundlePage(generation: GenerationName, page: PageFile): Promise<string> {
  const folder = fileURLToPath(new URL(`../clients/${generation}`, import.meta.url));
  const result = await build({
    entryPoints: [join(folder, page)],
    bundle: true,
    write: false,
    format: "esm",
    platform: "browser",
    target: "es2024",
    jsx: "automatic",
    minify: true,
    define: { "process.env.NODE_ENV": '"production"' },
    tsconfigRaw: {},
    plugins: [resolveFrom(folder)],
    logLevel: "silent"
  });
  const [script] = result.outputFiles;
  if (script === undefined) throw new Error(`The page of ${generation} came out empty.`);
  return script.text;
}

/** Imports of shared packages by the hooks go to the folder's copies. A package's own dependencies stay its own. */
function resolveFrom(folder: string): Plugin {
  return {
    name: "resolve-from-generation",
    setup({ onResolve, resolve }) {
      onResolve({ filter: SHARED }, async ({ path, kind, importer, pluginData }) => {
        if (pluginData === "resolved" || !HOOKS.test(importer)) return undefined;
        return resolve(path, { kind, resolveDir: folder, pluginData: "resolved" });
      });
    }
  };
}
