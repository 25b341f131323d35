// Which import of the packages everthink replaces becomes which of ours. Pure. What is a counterpart is what this package
// exports; the published clients are left alone, because they work with everthink as they are.

/** Left as it is, replaced, or without a counterpart. */
export type SpecifierVerdict = { readonly to: string } | "keep" | "missing";

/** Subpaths whose name is another here. */
const RENAMED: Readonly<Record<string, string>> = {
  agents: "everthink/agent",
  "agents/agent-tools": "everthink/agent-tools",
  "agents/chat-sdk": "everthink/chat-sdk",
  "agents/experimental/memory/session": "everthink/session",
  "agents/experimental/memory/utils": "everthink/session",
  "agents/experimental/memory/utils/compaction-helpers": "everthink/session",
  "agents/observability": "everthink/observe",
  "agents/sessions": "everthink/session",
  "agents/skills": "everthink/skills",
  "agents/skills-module": "everthink/skills-module",
  "agents/workflows": "everthink/workflows"
};
const THINK = "@cloudflare/think";
/** Published clients, and helpers that do not touch an agent. */
const CLIENTS =
  /^(?:agents\/(?:client|react|chat\/react|chat\/transport|ai-react|schedule|tsconfig)|@cloudflare\/ai-chat\/(?:react|types))$/;
/** Modules that work with everthink as they are, though it brings the same: they need no change, and are named. */
const STAYING: ReadonlySet<string> = new Set(["agents/vite"]);
const VIRTUAL = /^virtual:think\/(.+)$/;

/** `exported`: the subpaths of this package, as its package.json names them. */
export function verdictOn(specifier: string, exported: ReadonlySet<string>): SpecifierVerdict {
  const virtual = VIRTUAL.exec(specifier)?.[1];
  if (virtual !== undefined) return { to: `virtual:everthink/${virtual}` };
  if (CLIENTS.test(specifier) || STAYING.has(specifier)) return "keep";
  if (specifier === THINK) return { to: "everthink" };
  if (!isOriginal(specifier)) return "keep";
  const to =
    RENAMED[specifier] ?? (specifier.startsWith(`${THINK}/`) ? `everthink${specifier.slice(THINK.length)}` : "");
  return exported.has(subpathOf(to)) ? { to } : "missing";
}

/** Of one of the packages that everthink replaces. */
export function isOriginal(specifier: string): boolean {
  return /^(?:agents|@cloudflare\/think|@cloudflare\/ai-chat)(?:\/|$)/.test(specifier);
}

export function isOurs(specifier: string): boolean {
  return /^everthink(?:\/|$)/.test(specifier);
}

/** As package.json names it. */
export function subpathOf(specifier: string): string {
  return specifier.replace(/^everthink/, ".");
}

/** What is used here in place of a module that has no counterpart by its names. */
const INSTEAD: readonly (readonly [RegExp, string])[] = [
  [
    /^(?:@cloudflare\/ai-chat|agents\/ai-chat-agent)$/,
    'extend Think of "everthink", which stores messages, streams and resumes by itself'
  ],
  [/^agents\/browser(?:\/|$)/, 'the browser of a Think is its setting "browser", made by "everthink/browser"'],
  [/^agents\/context$/, 'context blocks are declared in configureSession(session), with types in "everthink/session"'],
  [/^agents\/email$/, 'what onEmail is given is an IncomingEmail of "everthink/agent"'],
  [/^agents\/mcp\/client$/, 'the servers of a Think are this.mcp, with types in "everthink"']
];

/** Undefined: there is nothing of the kind. */
export function insteadOf(specifier: string): string | undefined {
  return INSTEAD.find(([pattern]) => pattern.test(specifier))?.[1];
}

/** What a project may go on using, and what everthink has in its place. */
const COUNTERPARTS: readonly (readonly [RegExp, string])[] = [
  [
    /^agents\/vite$/,
    'skillsImport() of "everthink/build", and think() of "everthink/vite", which do the same; it works beside everthink and may stay'
  ],
  [
    /^@cloudflare\/codemode(?:\/|$)/,
    '"everthink/codemode" (connectors, DynamicWorkerExecutor, createCodemodeRuntime), and createExecuteTool of "everthink/tools/execute" for the tool'
  ],
  [
    /^@cloudflare\/shell(?:\/|$)/,
    'the workspace that every Think has (this.workspace), with its tools in "everthink/tools/workspace"'
  ]
];

export function counterpartOf(specifier: string): string | undefined {
  return COUNTERPARTS.find(([pattern]) => pattern.test(specifier))?.[1];
}
