// What can be wrong with a project, each with its mend. Decisions over facts that are given: reading them is read-facts.ts.
import type { ThinkDiagnostic } from "../../framework/manifest/manifest.ts";
import { formatDiagnostic } from "../../framework/manifest/manifest.ts";

export interface Finding {
  readonly level: "error" | "warning" | "ok";
  readonly text: string;
  /** What to type or to change. Absent for what is well. */
  readonly mend?: string;
}

export interface InstalledPackage {
  readonly name: string;
  /** Undefined: not installed. */
  readonly version: string | undefined;
}

export interface ProjectFacts {
  readonly node: string;
  /** Of the running command. */
  readonly everthink: string;
  readonly packages: readonly InstalledPackage[];
  readonly diagnostics: readonly ThinkDiagnostic[];
  readonly agents: number;
  readonly types: "written" | "current" | "stale" | "foreign";
  readonly hasAuthorize: boolean;
  readonly usesLogin: boolean;
  /** Of .dev.vars; names with their values. */
  readonly variables: ReadonlyMap<string, string>;
  readonly declared: readonly string[];
  /** Undefined: there is no .dev.vars. */
  readonly variablesFile: { readonly isPrivate: boolean; readonly isIgnored: boolean | undefined } | undefined;
  /** Of the Wrangler file, which is in Git. */
  readonly plainVariables: Readonly<Record<string, unknown>>;
  readonly devServer: string | undefined;
  /** Undefined: not asked, or there is nothing to ask. */
  readonly model: { readonly provider: string; readonly problem: string | undefined } | undefined;
}

export function findingsOf(facts: ProjectFacts): Finding[] {
  return [
    { level: "ok", text: `Node ${facts.node}` },
    ...installed(facts),
    ...facts.diagnostics.map(fromDiagnostic),
    ...(facts.agents > 0 ? [ok(`${facts.agents} ${facts.agents === 1 ? "agent" : "agents"}`)] : []),
    ...types(facts),
    ...access(facts),
    ...variablesFile(facts),
    ...secretsInGit(facts),
    ...model(facts),
    ...(facts.devServer === undefined ? [] : [ok(`The development server runs at ${facts.devServer}`)])
  ];
}

const ok = (text: string): Finding => ({ level: "ok", text });

function installed({ packages, everthink }: ProjectFacts): Finding[] {
  const missing = packages.filter(({ version }) => version === undefined).map(({ name }) => name);
  const own = packages.find(({ name }) => name === "everthink")?.version;
  const sdk = packages.find(({ name }) => name === "ai")?.version;
  return [
    ...(missing.length === 0
      ? [ok(packages.map(({ name, version }) => `${name} ${version}`).join(", "))]
      : [{ level: "error", text: `Not installed: ${missing.join(", ")}.`, mend: "npm install" } as const]),
    ...(own === undefined || own === everthink
      ? []
      : [
          {
            level: "warning",
            text: `The project has everthink ${own}, and this command is ${everthink}.`,
            mend: "Run it in the project's folder with npx, or raise the project's version: npm install everthink@latest"
          } as const
        ]),
    ...(sdk === undefined || /^[67]\./.test(sdk)
      ? []
      : [{ level: "error", text: `ai ${sdk} cannot be used.`, mend: "npm install ai@7" } as const])
  ];
}

function fromDiagnostic(diagnostic: ThinkDiagnostic): Finding {
  const level = diagnostic.severity === "error" ? "error" : "warning";
  return {
    level,
    text: formatDiagnostic(diagnostic),
    mend: "The sentence says what to change; see everthink inspect."
  };
}

function types({ types }: ProjectFacts): Finding[] {
  if (types === "foreign") {
    const text = "everthink.d.ts was not written by everthink.";
    return [{ level: "warning", text, mend: "Move it away, and run: everthink types" }];
  }
  if (types !== "stale") return [ok("everthink.d.ts is current")];
  return [{ level: "warning", text: "everthink.d.ts is stale.", mend: "everthink types" }];
}

function access({ hasAuthorize, usesLogin, variables }: ProjectFacts): Finding[] {
  if (!hasAuthorize) {
    const text = "Everyone who can reach the app can talk to every agent.";
    const mend = 'think({ authorize: "src/auth.ts" }) in vite.config.ts; docs/custom-servers.md has the file.';
    return [{ level: "warning", text, mend }];
  }
  if (!usesLogin) return [ok("authorize decides who may enter")];
  const missing = ["LOGIN_USERS", "SESSION_SECRET"].filter((name) => !variables.get(name));
  if (missing.length === 0) return [ok("LOGIN_USERS and SESSION_SECRET are set for everthink serve")];
  const text = `Under everthink serve no one can log in: ${missing.join(" and ")} not set. everthink dev does not need it.`;
  return [{ level: "warning", text, mend: "everthink user <e-mail> --write" }];
}

/** Empty they are a choice: the usual model of the provider, the provider whose key is set. */
const MEANT_EMPTY: readonly string[] = ["MODEL", "MODEL_PROVIDER"];

function variablesFile({ variablesFile: file, variables, declared }: ProjectFacts): Finding[] {
  if (file === undefined) return [];
  const empty = [...variables]
    .filter(([name, value]) => value === "" && !MEANT_EMPTY.includes(name))
    .map(([name]) => name);
  const unknown = declared.length === 0 ? [] : [...variables.keys()].filter((name) => !declared.includes(name));
  return [
    ...(file.isIgnored === false
      ? [{ level: "error", text: "Git does not ignore .dev.vars.", mend: 'A line ".dev.vars*" in .gitignore' } as const]
      : []),
    ...(file.isPrivate
      ? []
      : [{ level: "warning", text: ".dev.vars can be read by other users.", mend: "chmod 600 .dev.vars" } as const]),
    ...empty.map((name): Finding => {
      const mend = "Fill it in, or remove the line: an empty one hides the variable of the shell.";
      return { level: "warning", text: `${name} in .dev.vars is empty.`, mend };
    }),
    ...unknown.map((name): Finding => {
      const mend = "Is it a typing error? Else add the name to .dev.vars.example.";
      return { level: "warning", text: `.dev.vars has ${name}, which .dev.vars.example does not name.`, mend };
    })
  ];
}

function secretsInGit({ plainVariables }: ProjectFacts): Finding[] {
  return Object.entries(plainVariables)
    .filter(([name, value]) => /(?:KEY|TOKEN|SECRET|PASSWORD)$/.test(name) && typeof value === "string" && value !== "")
    .map(([name]) => ({
      level: "error",
      text: `${name} stands in the Wrangler file, which is in Git.`,
      mend: `Move it to .dev.vars, on Cloudflare: npx wrangler secret put ${name}. Then make a new one.`
    }));
}

function model({ model }: ProjectFacts): Finding[] {
  if (model === undefined) return [];
  if (model.problem === undefined) return [ok(`${model.provider} takes the key and has the model`)];
  return [{ level: "error", text: model.problem, mend: "Change it in .dev.vars. docs/troubleshooting.md says more." }];
}
