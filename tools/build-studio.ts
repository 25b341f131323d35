// `node tools/build-studio.ts`: the page of Studio, as files that need nothing else, into dist/studio.
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "rolldown";
import { licencesOf } from "./licences.ts";

const root = join(import.meta.dirname, "..");
const output = join(root, "dist", "studio");
mkdirSync(output, { recursive: true });
const { output: chunks } = await build({
  input: join(root, "studio", "main.tsx"),
  platform: "browser",
  transform: { define: { "process.env.NODE_ENV": '"production"' }, target: "es2024", jsx: "react-jsx" },
  output: { file: join(output, "studio.js"), format: "esm", minify: true }
});
copyFileSync(join(root, "studio", "index.html"), join(output, "index.html"));
// Later ones win over earlier ones.
const styles = ["base", "page", "timeline", "views", "costs", "acts", "small-screens"].map((name) => `${name}.css`);
const sheet = styles.map((name) => readFileSync(join(root, "studio", "styles", name), "utf8"));
writeFileSync(join(output, "studio.css"), sheet.join(""));
// The only file of the package that contains code of others.
const modules = chunks.flatMap((chunk) => (chunk.type === "chunk" ? chunk.moduleIds : []));
writeFileSync(join(output, "THIRD-PARTY-LICENCES.txt"), licencesOf(modules));
