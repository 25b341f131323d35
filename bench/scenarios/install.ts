// What a user's `npm install` puts on the disk: the packages a contender needs in production, without development
// tools. It asks the registry, so it is not part of quick runs. The baseline is what each of them needs.
import { execFile } from "node:child_process";
import { lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Sample } from "../metrics.ts";
import type { Scenario } from "./scenario.ts";

const run = promisify(execFile);
const repository = join(import.meta.dirname, "..", "..");
const FLOOR_INSTALLS = ["ai@7.0.169", "zod@4.6.7"];

export const installSize: Scenario = {
  name: "install",
  weight: "once",
  isSlow: true,
  run: async ({ contender }) => {
    const folder = mkdtempSync(join(tmpdir(), "everthink-install-"));
    try {
      writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "user", private: true }));
      const packed = contender.name.startsWith("everthink") ? [await pack(folder)] : [];
      return await install(folder, [...packed, ...(contender.installs ?? FLOOR_INSTALLS)]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
};

async function install(folder: string, packages: readonly string[]): Promise<Sample> {
  const options = ["--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  await run("npm", ["install", ...options, ...packages], { cwd: folder });
  const lock = JSON.parse(readFileSync(join(folder, "node_modules", ".package-lock.json"), "utf8")) as {
    packages: Record<string, unknown>;
  };
  return {
    installSize: sizeOf(join(folder, "node_modules")) / 1e6,
    installPackages: Object.keys(lock.packages).length
  };
}

/** The package as it would be published, as a file in the folder. */
async function pack(folder: string): Promise<string> {
  const { stdout } = await run("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", folder], {
    cwd: repository
  });
  const [packed] = JSON.parse(stdout) as { filename: string }[];
  return join(folder, packed?.filename ?? "");
}

function sizeOf(path: string): number {
  const entry = lstatSync(path);
  if (!entry.isDirectory()) return entry.size;
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0);
}
