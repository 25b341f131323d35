// `npm run api`: writes api/, the declarations of everything that can be imported. A test compares them with what is built.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { apiReport } from "./declarations.ts";

const repository = fileURLToPath(new URL("..", import.meta.url));
const folder = join(repository, "api");

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder);
const report = apiReport(repository);
for (const [name, text] of report) writeFileSync(join(folder, name), text);
console.log(`Wrote ${String(report.size)} files to api/.`);
