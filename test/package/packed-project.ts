// Packs the built package and installs the tarball in a new, empty project, as a user would get it. Everything lives in
// one temporary directory, which `remove` deletes. `dist/` must have been built.
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { removeFolder } from "../../tools/remove-folder.ts";

export const repository = fileURLToPath(new URL("../..", import.meta.url));

/** Packages come from npm's cache when they are there, so an installed repository needs no network. */
const INSTALL = ["install", "--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts"];

/** The path of a fixture of this folder. */
export function fixture(name: string): string {
  return fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url));
}

interface PackReport {
  filename: string;
  size: number;
  unpackedSize: number;
  files: { path: string; size: number }[];
}

export class PackedProject {
  readonly directory = mkdtempSync(join(tmpdir(), "everthink-packed-"));
  readonly report: PackReport;

  constructor() {
    const [report] = JSON.parse(
      this.#npm(repository, ["pack", "--json", "--ignore-scripts", "--pack-destination", this.directory])
    ) as PackReport[];
    if (!report) throw new Error("npm pack reported nothing");
    this.report = report;
  }

  /** The paths inside the tarball. */
  get files(): string[] {
    return this.report.files.map((file) => file.path);
  }

  get project(): string {
    return join(this.directory, "project");
  }

  install(): void {
    mkdirSync(this.project);
    writeFileSync(
      join(this.project, "package.json"),
      JSON.stringify({ name: "project", private: true, type: "module" })
    );
    this.#npm(this.project, [...INSTALL, join(this.directory, this.report.filename)]);
  }

  /** Unpacks the package among links to the repository's packages, so that nothing is downloaded. Answers its folder. */
  link(): string {
    const modules = join(this.directory, "node_modules");
    mkdirSync(modules);
    for (const name of readdirSync(join(repository, "node_modules"))) {
      if (name !== "everthink") symlinkSync(join(repository, "node_modules", name), join(modules, name));
    }
    return this.unpack(this.report.filename, "everthink");
  }

  unpack(tarball: string, name: string): string {
    const folder = join(this.directory, "node_modules", name);
    mkdirSync(folder);
    execFileSync("tar", ["-xzf", join(this.directory, tarball), "-C", folder, "--strip-components=1"]);
    return folder;
  }

  /** Copies a fixture of this folder into the project. */
  add(name: string): string {
    const target = join(this.project, name);
    copyFileSync(fixture(name), target);
    return target;
  }

  /** The text of an installed file of the package. */
  read(path: string): string {
    return readFileSync(join(this.project, "node_modules", "everthink", path), "utf8");
  }

  async remove(): Promise<void> {
    await removeFolder(this.directory);
  }

  #npm(cwd: string, args: string[]): string {
    return execFileSync("npm", args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  }
}
