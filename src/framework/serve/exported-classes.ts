// The classes a build exports, as workerd sees them: a second, short-lived workerd loads its modules without objects and
// without data, and is asked. Only running a module tells what it exports and which of it is a Durable Object class.
import { mkdirSync, mkdtempSync, copyFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Build } from "./build.ts";
import { serveErrors } from "./errors.ts";
import type { Binding } from "./worker-manifest.ts";
import { DATA_SERVICE, secretEnvironment, workerdConfig } from "./workerd-config.ts";
import { launchWorkerd } from "./workerd-process.ts";

export interface ExportedClasses {
  /** Everything exported that can be called or constructed. */
  exported: readonly string[];
  /** Those that extend DurableObject: agents and others. */
  objects: readonly string[];
}

export interface Inspection {
  build: Build;
  bindings: readonly Binding[];
  binary: string;
}

const ASKER = "everthink-exported-classes.js";

export async function exportedClasses({ build, bindings, binary }: Inspection): Promise<ExportedClasses> {
  const folder = mkdtempSync(join(tmpdir(), "everthink-classes-"));
  try {
    const configFile = writeConfig(folder, build, bindings);
    const running = await launchWorkerd({
      binary,
      configFile,
      host: "127.0.0.1",
      port: 0,
      folders: { [DATA_SERVICE]: folder },
      environment: secretEnvironment(bindings),
      scratchDirectory: folder
    });
    try {
      const answer = await fetch(`http://127.0.0.1:${running.port}/`);
      // Written by the module below.
      return (await answer.json()) as ExportedClasses;
    } finally {
      await running.stop(0);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The classes given with --objects must be there; without any, the ones that could be given are named. */
export function checkObjectClasses(named: readonly string[], found: ExportedClasses): { warning?: string } {
  const list = found.objects.join(", ") || "none";
  const missing = named.find((name) => !found.exported.includes(name));
  if (missing !== undefined) {
    throw serveErrors.UnusableBuildError(
      `The build does not export the class ${missing} given with --objects.`,
      `Classes of Durable Objects it exports: ${list}. Class names must survive the bundler.`
    );
  }
  if (named.length > 0 || found.objects.length === 0) return {};
  const option = `--objects ${found.objects.join(",")}`;
  return { warning: `No class is bound, so no agent can be reached. The build exports: ${list}. Bind with ${option}` };
}

function writeConfig(folder: string, { modules, manifest }: Build, bindings: readonly Binding[]): string {
  for (const { name, file } of modules) {
    const copy = join(folder, "modules", name);
    mkdirSync(dirname(copy), { recursive: true });
    copyFileSync(file, copy);
  }
  writeFileSync(join(folder, "modules", ASKER), askerModule(modules[0]?.name ?? manifest.main));
  const configFile = join(folder, "config.capnp");
  const all = [{ name: ASKER, kind: "esModule" as const }, ...modules];
  const config = workerdConfig({
    modules: all.map(({ name, kind }) => ({ name, kind, file: `modules/${name}` })),
    compatibilityDate: manifest.compatibilityDate,
    compatibilityFlags: manifest.compatibilityFlags,
    objects: [],
    bindings: bindings.filter(({ type }) => type !== "object" && type !== "assets")
  });
  writeFileSync(configFile, config, { mode: 0o600 });
  return configFile;
}

function askerModule(main: string): string {
  return `import { DurableObject } from "cloudflare:workers";
import * as build from ${JSON.stringify(`./${main}`)};
const exported = Object.keys(build).filter((name) => name !== "default" && typeof build[name] === "function");
const objects = exported.filter((name) => build[name].prototype instanceof DurableObject);
export default { fetch: () => Response.json({ exported, objects }) };
`;
}
