// Values for the Worker's environment that its configuration does not hold: a file of NAME=value lines (.dev.vars) and
// variables of this process, each only when it was asked for by name. They stay off the disk: see the binding "secret".
import { serveErrors } from "./errors.ts";
import type { Binding, WorkerManifest } from "./worker-manifest.ts";

export interface VariableSources {
  /** The text of the file, if there is one. */
  file?: string | undefined;
  environment: Readonly<Record<string, string | undefined>>;
  /** Names given with --var. */
  names: readonly string[];
}

/** The manifest's bindings with these values over them: the environment wins over the file, the file over the build. */
export function withVariables(manifest: WorkerManifest, sources: VariableSources): Binding[] {
  const values = parseVariables(sources.file ?? "");
  for (const name of [...manifest.requiredSecrets, ...sources.names]) {
    const value = sources.environment[name];
    if (value !== undefined) values.set(name, value);
  }
  const plain = new Set(manifest.bindings.map(({ name }) => name));
  const missing = [
    ...manifest.requiredSecrets.filter((name) => !values.has(name)),
    ...sources.names.filter((name) => !values.has(name) && !plain.has(name))
  ];
  if (missing.length > 0) throw serveErrors.MissingVariableError([...new Set(missing)]);
  const secrets = [...values].map(([name, value]): Binding => ({ type: "secret", name, value }));
  return [...manifest.bindings.filter(({ name }) => !values.has(name)), ...secrets];
}

const LINE = /^\s*(?:export\s+)?([A-Za-z_][\w.-]*)\s*=[^\S\n]*("(?:\\.|[^"\\])*"|'[^']*'|`[^`]*`|[^\n\r]*)/gm;

/** Quoted values may span lines; only double quotes know `\n`. An unquoted value ends at ` #`. */
export function parseVariables(text: string): Map<string, string> {
  const values = new Map<string, string>();
  for (const [, name = "", raw = ""] of text.matchAll(LINE)) values.set(name, unquoted(raw));
  return values;
}

function unquoted(raw: string): string {
  const quote = raw.at(0);
  if (raw.length > 1 && quote === raw.at(-1)) {
    if (quote === '"') return raw.slice(1, -1).replace(/\\(.)/g, (_match, letter: string) => ESCAPES[letter] ?? letter);
    if (quote === "'" || quote === "`") return raw.slice(1, -1);
  }
  return raw.replace(/(^|\s)#.*$/, "").trim();
}

const ESCAPES: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" };
