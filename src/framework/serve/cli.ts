#!/usr/bin/env node
// The package's bin. It only says where its own files are; see command.ts.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { runCommand } from "./command.ts";

const besides = (path: string) => fileURLToPath(new URL(path, import.meta.url));
// Built, this file is dist/serve/cli.js.
const { version } = JSON.parse(readFileSync(besides("../../package.json"), "utf8")) as { version: string };

process.exitCode = await runCommand(process.argv.slice(2), { frontWorker: besides("./front-worker.js"), version });
