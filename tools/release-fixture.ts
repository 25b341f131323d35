// Keeps a release for the tests of upgrades: `node tools/release-fixture.ts <name> [folder]` bundles the workers of the kill
// runs with the package that was built in the folder (default: this repository) and writes them to test/fixtures/releases.
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import { RELEASED_WORKERS } from "../test/fixtures/releases/releases.ts";
import { bundleWorker } from "./bundle-worker.ts";

const root = join(import.meta.dirname, "..");
const [name = new Date().toISOString().slice(0, 10), from = root] = process.argv.slice(2);
const target = join(root, "test/fixtures/releases", name);
mkdirSync(target, { recursive: true });
for (const [worker, file] of Object.entries(RELEASED_WORKERS)) {
  const outputFile = join(target, `${worker}.js`);
  await bundleWorker({ entry: resolve(from, file), outputFile, minify: true });
  const text = readFileSync(outputFile);
  const params = {
    [constants.BROTLI_PARAM_SIZE_HINT]: text.byteLength,
    [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS
  };
  writeFileSync(`${outputFile}.br`, brotliCompressSync(text, { params }));
  rmSync(outputFile);
  console.log(`${name}/${worker}.js.br: ${Math.round(statSync(`${outputFile}.br`).size / 1024)} KiB`);
}
const version = /SCHEMA_VERSION = (\d+)/.exec(readFileSync(resolve(from, "src/host/schema.ts"), "utf8"))?.[1];
writeFileSync(join(target, "release.json"), `${JSON.stringify({ name, schemaVersion: Number(version) }, null, 2)}\n`);
