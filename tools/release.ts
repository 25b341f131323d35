// `npm run release -- <version|major|minor|patch> [--publish]`: makes a release, or says what stands in the way of it.
// Without --publish it changes nothing: it prints the notes, the steps, and what the package would hold.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { nextVersion, notesOf, obstacles, releasedChangelog, withVersion } from "./release-plan.ts";

const root = join(import.meta.dirname, "..");
/** In the order of publishing: the second depends on the first. */
const PACKAGES = [".", "packages/create-everthink"];
const VERSIONED = ["package.json", "package-lock.json", "packages/create-everthink/package.json"];

const { values, positionals } = parseArgs({ allowPositionals: true, options: { publish: { type: "boolean" } } });
const [wanted] = positionals;
if (wanted === undefined) stop(["Say which: npm run release -- 0.2.0, or major, minor, patch."]);

const read = (path: string) => readFileSync(join(root, path), "utf8");
const git = (...args: string[]) => execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();
const run = (program: string, ...args: string[]) => {
  console.log(`$ ${[program, ...args].join(" ")}`);
  execFileSync(program, args, { cwd: root, stdio: "inherit" });
};

const { version } = JSON.parse(read("package.json")) as { version: string };
const changelog = read("CHANGELOG.md");
const next = nextVersion(version, wanted);
const repository = {
  version,
  changelog,
  status: git("status", "--porcelain"),
  branch: git("branch", "--show-current"),
  tags: git("tag").split("\n").filter(Boolean)
};
const found = obstacles(repository, next);
console.log(`everthink ${version} → ${next}\n\n${notesOf(changelog) ?? ""}\n`);

if (!values.publish) {
  for (const folder of PACKAGES) console.log(packed(folder));
  console.log(
    `\nA release runs .ci/run, commits the version, tags v${next}, and publishes both packages with provenance: add --publish.`
  );
}
if (found.length > 0) stop(found);
if (values.publish) release();

/** Ends before anything is published if a check fails; what was not pushed can be undone with git. */
function release(): void {
  run(".ci/run");
  for (const path of VERSIONED) writeFileSync(join(root, path), withVersion(read(path), next));
  writeFileSync(
    join(root, "CHANGELOG.md"),
    releasedChangelog(changelog, next, new Date().toISOString().slice(0, "2026-01-01".length))
  );
  // The version is in what is built.
  run("npm", "run", "build");
  run("git", "commit", "-am", `release: ${next}`);
  run("git", "tag", "-a", `v${next}`, "-m", `everthink ${next}`);
  const tag = next.includes("-") ? "next" : "latest";
  for (const folder of PACKAGES)
    run("npm", "publish", `./${folder}`, "--provenance", "--access", "public", "--tag", tag);
  run("git", "push", "--follow-tags");
}

function packed(folder: string): string {
  const [report] = JSON.parse(
    execFileSync("npm", ["pack", `./${folder}`, "--dry-run", "--json", "--ignore-scripts"], {
      cwd: root,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"]
    })
  ) as { name: string; size: number; unpackedSize: number; entryCount: number }[];
  if (!report) throw new Error(`npm pack reported nothing for ${folder}.`);
  const kib = (bytes: number) => `${Math.ceil(bytes / 1024).toLocaleString("en")} KiB`;
  return `${report.name}: ${String(report.entryCount)} files, ${kib(report.size)} packed, ${kib(report.unpackedSize)} unpacked`;
}

function stop(sentences: readonly string[]): never {
  for (const sentence of sentences) console.error(sentence);
  process.exit(1);
}
