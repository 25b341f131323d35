// A script of a skill and what it imports as one JavaScript module. The compiler is the esbuild that Wrangler or Vite
// brought into the project.
import type { build, Plugin } from "esbuild";
import { createRequire } from "node:module";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { errorMessage } from "../../util/errors.ts";
import { SkillCompileError } from "./errors.ts";

interface Esbuild {
  readonly build: typeof build;
}

/** Packages that depend on esbuild, where a package manager may keep it out of the project's own reach. */
const OWNERS = ["wrangler", "vite"];

export interface CompileSkillScriptOptions {
  /** The language version of the result; "es2022" by default. */
  readonly target?: string;
  /** Files of this folder and installed packages may be imported, no others. Its real path. */
  readonly within?: string;
  /** Of the project that has the compiler; the working directory by default. */
  readonly root?: string;
}

export interface CompiledSkillScript {
  readonly content: string;
  readonly precompiled: true;
}

/** Whether a path is one of a script that `compileSkillScript` takes. */
export function isCompilableSkillScript(path: string): boolean {
  return /\.(?:js|mjs|ts|tsx)$/i.test(path);
}

/**
 * A script as one module without imports and types, as scripts in R2 should be. Throws SkillCompileError.
 *
 * @example
 * const { content } = await compileSkillScript("skills/release-notes/scripts/collect.ts");
 * await bucket.put("skills/release-notes/scripts/collect.js", content);
 */
export async function compileSkillScript(
  path: string,
  { target = "es2022", within, root = process.cwd() }: CompileSkillScriptOptions = {}
): Promise<CompiledSkillScript> {
  const file = resolve(root, path);
  const esbuild = await loadEsbuild(root);
  if (!esbuild) throw new SkillCompileError(basename(file), "the package esbuild is not installed");
  try {
    const { outputFiles } = await esbuild.build({
      entryPoints: [file],
      // The result names the files it is made of, as seen from here: the same tree must give the same bytes.
      absWorkingDir: within ?? dirname(file),
      bundle: true,
      write: false,
      format: "esm",
      platform: "browser",
      target,
      logLevel: "silent",
      tsconfigRaw: {},
      plugins: within === undefined ? [] : [containedIn(within)]
    });
    return { content: outputFiles[0]?.text ?? "", precompiled: true };
  } catch (error) {
    throw new SkillCompileError(basename(file), reasonOf(error), error);
  }
}

export function isInside(folder: string, path: string): boolean {
  const [first] = relative(folder, path).split(sep);
  return first !== ".." && resolve(folder, relative(folder, path)) === path;
}

/** A skill may come from anywhere: a script of it must not carry other files of this machine into the program. */
function containedIn(folder: string): Plugin {
  const checked = {};
  return {
    name: "everthink:skill-files",
    setup(bundle) {
      bundle.onResolve(
        { filter: /^(?:[./\\]|[A-Za-z]:)/ },
        async ({ path, importer, resolveDir, kind, pluginData }) => {
          if (pluginData === checked || importer === "" || !isInside(folder, importer)) return undefined;
          const found = await bundle.resolve(path, { importer, resolveDir, kind, pluginData: checked });
          if (found.errors.length > 0 || isInside(folder, found.path)) return found;
          return { errors: [{ text: `"${path}" is not a file of the skill` }] };
        }
      );
    }
  };
}

async function loadEsbuild(root: string): Promise<Esbuild | undefined> {
  const project = createRequire(join(root, "package.json"));
  const owners = OWNERS.map((name) => resolved(project, `${name}/package.json`) ?? resolved(project, name));
  const requires = [project, ...owners.flatMap((path) => (path === undefined ? [] : [createRequire(path)]))];
  for (const require of [...requires, createRequire(import.meta.url)]) {
    const path = resolved(require, "esbuild");
    if (path !== undefined) return (await import(pathToFileURL(path).href)) as Esbuild;
  }
  return undefined;
}

function resolved(require: NodeJS.Require, specifier: string): string | undefined {
  try {
    return require.resolve(specifier);
  } catch {
    // Not installed there: the next place is asked.
    return undefined;
  }
}

/** The first error, without the list of all of them. */
function reasonOf(error: unknown): string {
  const first: unknown = Array.isArray(Reflect.get(Object(error), "errors"))
    ? (Reflect.get(Object(error), "errors") as unknown[])[0]
    : undefined;
  const text: unknown = Reflect.get(Object(first), "text");
  return typeof text === "string" ? text : errorMessage(error);
}
