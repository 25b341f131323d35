// Which files of a build are modules of the Worker, and of what kind. The defaults are wrangler's; a build's own `rules`
// add endings to them.

export type ModuleKind = "esModule" | "commonJsModule" | "text" | "data" | "wasm" | "json";

const DEFAULT_KINDS: Readonly<Record<string, ModuleKind>> = {
  ".js": "esModule",
  ".mjs": "esModule",
  ".cjs": "commonJsModule",
  ".json": "json",
  ".txt": "text",
  ".html": "text",
  ".sql": "text",
  ".bin": "data",
  ".wasm": "wasm"
};

const KIND_OF_RULE: Readonly<Record<string, ModuleKind>> = {
  ESModule: "esModule",
  CommonJS: "commonJsModule",
  Text: "text",
  Data: "data",
  CompiledWasm: "wasm"
};

/** What lies beside the modules and is none. */
const NOT_MODULES = new Set(["wrangler.json", "wrangler.jsonc", "package.json", "tsconfig.json"]);

export interface ModuleRule {
  type: string;
  globs: readonly string[];
}

export type KindOf = (path: string) => ModuleKind | undefined;

/** `path` is relative to the folder of the main module, with forward slashes. */
export function moduleKinds(rules: readonly ModuleRule[]): KindOf {
  const kinds: Record<string, ModuleKind> = { ...DEFAULT_KINDS };
  for (const { type, globs } of rules) {
    const kind = KIND_OF_RULE[type];
    if (kind === undefined) continue;
    for (const glob of globs) {
      // Builds write rules by ending ("**/*.glsl"); any other pattern names files the build has bundled already.
      const ending = /^\*\*\/\*(\.[\w.-]+)$/.exec(glob)?.[1];
      if (ending !== undefined) kinds[ending] = kind;
    }
  }
  return (path) => {
    const segments = path.split("/");
    if (segments.some((segment) => segment.startsWith(".") || segment === "node_modules")) return undefined;
    if (NOT_MODULES.has(segments.at(-1) ?? "")) return undefined;
    return kinds[/\.[^./]+$/.exec(path)?.[0] ?? ""];
  };
}
