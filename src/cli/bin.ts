#!/usr/bin/env node
// The package's bin. It only says where its own files are, and that an older Node will not do: everything else is loaded
// after that, because an older Node cannot even read it. See main.ts.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const besides = (path: string) => fileURLToPath(new URL(path, import.meta.url));
// Built, this file is dist/serve/cli.js.
const manifest = JSON.parse(readFileSync(besides("../../package.json"), "utf8")) as {
  version: string;
  engines: { node: string };
  dependencies: Record<string, string>;
};

const wanted = numbers(manifest.engines.node);
if (isOlder(numbers(process.versions.node), wanted)) {
  const major = wanted[0];
  console.error(
    `everthink needs Node ${wanted.join(".")} or newer; this is ${process.versions.node}.\n` +
      `With nvm: nvm install ${major}. With fnm: fnm use --install-if-missing ${major}. Else: https://nodejs.org`
  );
  process.exitCode = 1;
} else {
  const { runEverthink } = await import("./main.ts");
  process.exitCode = await runEverthink(process.argv.slice(2), {
    frontWorker: besides("./front-worker.js"),
    startersFolder: besides("../../starters"),
    docsFolder: besides("../../docs"),
    studioFolder: besides("../studio"),
    partsFolder: besides("../parts"),
    agentSkillsFolder: besides("../../agent-skills"),
    dependencies: manifest.dependencies,
    version: manifest.version
  });
}

function numbers(version: string): number[] {
  return (version.match(/\d+/g) ?? []).map(Number);
}

function isOlder(version: readonly number[], than: readonly number[]): boolean {
  const differing = than.findIndex((number, index) => number !== (version[index] ?? 0));
  return differing >= 0 && (version[differing] ?? 0) < (than[differing] ?? 0);
}
