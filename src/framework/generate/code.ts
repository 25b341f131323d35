// The generated modules, as the code a user could have written: imports of the agent files, one exported class each, and a
// handler that routes. `eject` prints the same code with paths in place of the virtual ids.
import type { ThinkManifest, ThinkManifestAgent } from "../manifest/manifest.ts";
import type { ThinkWorkerConfig } from "../config/worker-config.ts";

/** The package's module that generated code imports. */
export const SERVER_ENTRY = "everthink/server-entry";

export interface GenerateOptions {
  /** How a file of the project is imported. Default: from the root, as Vite resolves it. */
  readonly importOf?: (path: string) => string;
  /** The module with the classes. Default: the virtual one. */
  readonly agentsModule?: string;
  /** Default export `(request, route, env) => Response | void`. */
  readonly authorize?: string;
  readonly messengers?: { readonly agent: string; readonly name?: string };
  /** An expression: whether this is the development server. */
  readonly development?: string;
}

/** The classes of all agents, under their generated names, those of workflows, and the registry that the router reads. */
export function generateThinkAgentsModule(manifest: ThinkManifest, options: GenerateOptions = {}): string {
  const importOf = options.importOf ?? fromRoot;
  const names = moduleNames(manifest.agents);
  const imports = manifest.agents.map(
    ({ sourcePath }, index) => `import * as ${names[index]} from ${quoted(importOf(sourcePath))};`
  );
  const classes = manifest.agents.map(({ className, sourcePath }, index) => {
    const given = `  className: ${quoted(className)},\n  path: ${quoted(sourcePath)}`;
    return `export const ${className} = thinkAgentClass(${names[index]}, {\n${given}\n});`;
  });
  const workflows = manifest.workflows.map(({ className, exportName, sourcePath }) => {
    const name = exportName === className ? className : `${exportName} as ${className}`;
    return `export { ${name} } from ${quoted(importOf(sourcePath))};`;
  });
  const lines = [
    `import { thinkAgentClass } from ${quoted(SERVER_ENTRY)};`,
    ...imports,
    "",
    ...classes,
    ...workflows,
    "",
    `export const thinkAgentRegistry = ${registry(manifest)};`
  ];
  return `${lines.join("\n")}\n`;
}

/** The Worker's main module. */
export function generateThinkEntry(manifest: ThinkManifest, options: GenerateOptions = {}): string {
  const importOf = options.importOf ?? fromRoot;
  const agentsModule = options.agentsModule ?? "virtual:everthink/agents";
  const { appEntrypoint } = manifest;
  const entry = [
    `manifest: { routePrefix: ${quoted(manifest.routePrefix)}, agents: thinkAgentRegistry }`,
    ...(appEntrypoint === undefined ? [] : ["app"]),
    ...(options.authorize === undefined ? [] : ["authorize"]),
    ...(options.messengers === undefined ? [] : [`messengers: ${JSON.stringify(options.messengers)}`]),
    ...(options.development === undefined ? [] : [`isDevelopment: ${options.development}`])
  ];
  const lines = [
    `import { createThinkWorkerEntry } from ${quoted(SERVER_ENTRY)};`,
    `import { thinkAgentRegistry } from ${quoted(agentsModule)};`,
    ...(appEntrypoint === undefined ? [] : [`import * as app from ${quoted(importOf(appEntrypoint))};`]),
    ...(options.authorize === undefined ? [] : [`import authorize from ${quoted(importOf(options.authorize))};`]),
    "",
    `export * from ${quoted(agentsModule)};`,
    ...(appEntrypoint === undefined ? [] : [`export * from ${quoted(importOf(appEntrypoint))};`]),
    "",
    "export default createThinkWorkerEntry({",
    ...entry.map((line, index) => `  ${line}${index < entry.length - 1 ? "," : ""}`),
    "});"
  ];
  return `${lines.join("\n")}\n`;
}

/** `thinkRouter` over the same registry, for the user's own handlers. */
export function generateThinkRouterModule(manifest: ThinkManifest, options: GenerateOptions = {}): string {
  const given = [
    `manifest: { routePrefix: ${quoted(manifest.routePrefix)}, agents: ${registry(manifest)} }`,
    ...(options.messengers === undefined ? [] : [`messengers: ${JSON.stringify(options.messengers)}`])
  ];
  return `import { createThinkRouter } from ${quoted(SERVER_ENTRY)};
export { ${ROUTING_HELPERS.join(", ")} } from ${quoted(SERVER_ENTRY)};

export const thinkRouter = createThinkRouter({ ${given.join(", ")} });
`;
}

const ROUTING_HELPERS = [
  "buildThinkAgentPath",
  "createThinkRouter",
  "parseThinkAgentPath",
  "resolveThinkAgentName",
  "resolveThinkSubAgentName",
  "rewriteThinkSubAgentRequest",
  "routeThinkRequest"
];

export function generateThinkManifestModule(manifest: ThinkManifest): string {
  // A Worker has no use for the path of the machine that built it.
  return `export default ${json({ ...manifest, root: "" })};\n`;
}

export function generateThinkConfigModule(config: ThinkWorkerConfig): string {
  return `export default ${json(config)};\n`;
}

export function generateThinkServerEntryModule(): string {
  return `export * from ${quoted(SERVER_ENTRY)};\n`;
}

/** An array literal with an agent to a few lines, as it would be written by hand. */
function registry({ agents }: ThinkManifest): string {
  const entries = agents.map(({ id, className, kind, parentId, aliases, exportName, sourcePath, bindingName }) => {
    const fields = { id, className, kind, parentId, aliases, exportName, bindingName, sourcePath };
    const given = Object.entries(fields).filter(([, value]) => value !== undefined);
    const lines = given.map(([name, value]) => `    ${name}: ${oneLine(value)}`);
    return `  {\n${lines.join(",\n")}\n  }`;
  });
  return entries.length === 0 ? "[]" : `[\n${entries.join(",\n")}\n]`;
}

function oneLine(value: unknown): string {
  return Array.isArray(value) ? `[${value.map(oneLine).join(", ")}]` : lineSafe(JSON.stringify(value));
}

/** Readable in what is ejected, and never the name of something else. */
function moduleNames(agents: readonly ThinkManifestAgent[]): string[] {
  const plain = agents.map(
    ({ id }) => `${id.replace(/[^A-Za-z\d]+(.)?/g, (_, next?: string) => next?.toUpperCase() ?? "")}Module`
  );
  return plain.map((name, index) => {
    const isUnique = plain.indexOf(name) === plain.lastIndexOf(name) && /^[A-Za-z]/.test(name);
    return isUnique ? name : `agent${index}${name}`;
  });
}

function fromRoot(path: string): string {
  return `/${path}`;
}

function quoted(text: string): string {
  return JSON.stringify(text);
}

function json(value: unknown): string {
  return lineSafe(JSON.stringify(value, null, 2));
}

/** U+2028 and U+2029 are line ends in older JavaScript. */
function lineSafe(text: string): string {
  return text.replace(/[\u2028\u2029]/g, (end) => (end === "\u2028" ? "\\u2028" : "\\u2029"));
}
