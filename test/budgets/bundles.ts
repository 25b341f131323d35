// What a Worker carries of the package: bundled from src/ as a user's build bundles dist/, minified, into one file.
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";
import { WORKER_BUILD } from "../../tools/bundle-worker.ts";
import { ENTRY_POINTS } from "../../tools/entry-points.ts";
import ownPackage from "../../package.json" with { type: "json" };

export interface SourceBundle {
  sizeBytes: number;
  /** Bytes of each of our modules, by its path below src/. */
  ours: ReadonlyMap<string, number>;
  /** Bytes of each package. */
  packages: ReadonlyMap<string, number>;
}

const repository = fileURLToPath(new URL("../../", import.meta.url));
/** A project that installs none of them. */
const optionalPeers = Object.keys(ownPackage.peerDependenciesMeta);

const fromSource: Plugin = {
  name: "from-source",
  setup({ onResolve }) {
    onResolve({ filter: /^#platform$/ }, () => ({ path: `${repository}src/host/workerd/platform.ts` }));
    onResolve({ filter: new RegExp(`^(${optionalPeers.join("|")})(/.*)?$`) }, ({ path }) => ({ path, external: true }));
    onResolve({ filter: /^everthink(\/|$)/ }, ({ path }) => {
      const source = ENTRY_POINTS[path === "everthink" ? "index" : path.slice("everthink/".length)];
      return source === undefined ? undefined : { path: repository + source };
    });
  }
};

/** Bundles a Worker whose code is given as text, with imports as a user writes them. */
export async function bundleOf(code: string): Promise<SourceBundle> {
  const { metafile } = await build({
    ...WORKER_BUILD,
    stdin: { contents: code, resolveDir: repository, loader: "ts" },
    plugins: [fromSource],
    outfile: "worker.js",
    write: false,
    minify: true,
    metafile: true
  });
  const [output] = Object.values(metafile.outputs);
  const ours = new Map<string, number>();
  const packages = new Map<string, number>();
  for (const [path, { bytesInOutput }] of Object.entries(output?.inputs ?? {})) {
    const name = path.match(/node_modules\/((?:@[^/]+\/)?[^/]+)/)?.[1];
    if (name !== undefined) packages.set(name, (packages.get(name) ?? 0) + bytesInOutput);
    else if (path.startsWith("src/") && bytesInOutput > 0) ours.set(path.slice("src/".length), bytesInOutput);
  }
  return { sizeBytes: output?.bytes ?? 0, ours, packages };
}

/** A chat agent that says nothing but which model answers. */
export const CHAT_AGENTS = {
  core: chatAgent('import { ThinkCore } from "everthink/core";', "ThinkCore"),
  think: chatAgent('import { Think } from "everthink";', "Think")
};

export const PLAIN_AGENT = `
  import { Agent, routeAgentRequest } from "everthink/agent";
  export class Counter extends Agent {}
  export default { fetch: (request, env) => routeAgentRequest(request, env) };
`;

/** The agent of `core` with one capability. */
export function coreAgentWith(subpath: string, name: string): string {
  const imports = `import { ThinkCore, withCapabilities } from "everthink/core"; import { ${name} } from "everthink/${subpath}";`;
  return chatAgent(imports, `withCapabilities(ThinkCore, ${name})`);
}

function chatAgent(imports: string, base: string): string {
  return `
    ${imports}
    import { routeAgentRequest } from "everthink/agent";
    export class Chat extends ${base} {
      getModel() { return this.env.MODEL; }
    }
    export default { fetch: (request, env) => routeAgentRequest(request, env) };
  `;
}
