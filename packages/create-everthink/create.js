#!/usr/bin/env node
// `npm create everthink@latest [directory] [options]` is `everthink init [directory] [options]`.
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const manifest = createRequire(import.meta.url).resolve("everthink/package.json");
const command = join(dirname(manifest), "dist", "serve", "cli.js");
const { status } = spawnSync(process.execPath, [command, "init", ...process.argv.slice(2)], { stdio: "inherit" });
process.exitCode = status ?? 1;
