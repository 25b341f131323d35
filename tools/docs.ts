// `npm run docs`: builds the documentation into docs/dist, with Astro and Starlight, which it installs into site/ on first use.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

const site = join(import.meta.dirname, "../site");

/** Its dependencies are no part of the project's: nothing else needs them. */
function installIfNeeded(): void {
  const installed = join(site, "node_modules/.package-lock.json");
  const lock = join(site, "package-lock.json");
  if (existsSync(installed) && statSync(installed).mtimeMs > statSync(lock).mtimeMs) return;
  console.error("Installing what the site is built with …");
  // Not `npm ci`: it wants a line in the lock file for each platform's build of a tool, also for those that a registry lacks.
  run("npm", ["install", "--no-save"]);
}

function run(command: string, args: readonly string[]): void {
  const { status, error } = spawnSync(command, args, {
    cwd: site,
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...process.env, ASTRO_TELEMETRY_DISABLED: "1" }
  });
  if (error) throw error;
  if (status !== 0) {
    console.error(`"${[command, ...args].join(" ")}" in site/ ended with ${status}.`);
    process.exit(1);
  }
}

installIfNeeded();
await import("../site/prepare.ts");
run(process.execPath, [join(site, "node_modules/astro", binOf("astro")), "build", "--silent"]);
console.log("The site is in docs/dist.");

function binOf(name: string): string {
  const { bin } = JSON.parse(readFileSync(join(site, "node_modules", name, "package.json"), "utf8")) as {
    bin: Readonly<Record<string, string>>;
  };
  return bin[name] ?? "";
}
