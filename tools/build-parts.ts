// `node tools/build-parts.ts`: the parts of a chat page, as they are shipped beside their code in dist/react.js: one style
// sheet, which is `everthink/react/styles.css`, and their sources, which `npx everthink add chat` copies into a project.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const root = join(import.meta.dirname, "..");

/** Later ones win over earlier ones. */
const STYLES = [
  "base",
  "controls",
  "page",
  "list",
  "conversation",
  "markdown",
  "parts",
  "extensions",
  "code",
  "diff",
  "runs",
  "composer"
];

/** In place of the one file of the folder that imports others of ours. */
const THINK = `// What the parts take from the package.
export { describeRetry } from "everthink/client";
export type {
  AgentRun,
  AwaitedRetry,
  ClientReceipt,
  ConnectionState,
  Status,
  ThinkClientOptions,
  WaitingApproval
} from "everthink/client";
export { useThink, type UseThinkResult } from "everthink/react";
`;

/** The style sheet of all parts. */
export function partStyles(): string {
  return STYLES.map((name) => readFileSync(join(root, "src/client/parts/styles", `${name}.css`), "utf8")).join("\n");
}

/** The sources by their paths in the folder that they are copied to. */
export function partSources(): ReadonlyMap<string, string> {
  const folder = join(root, "src/client/parts");
  const paths = readdirSync(folder, { recursive: true, encoding: "utf8" }).map((path) => path.replaceAll("\\", "/"));
  const isSource = (path: string) => /\.tsx?$/.test(path) && !/\.test\.tsx?$/.test(path);
  const sources = paths.filter(isSource).map((path): [string, string] => {
    const text = path === "think.ts" ? THINK : readFileSync(join(folder, path), "utf8");
    // Without the ending, which not every project's compiler allows.
    return [path, text.replaceAll(/(from |import\()"(\.[^"]+)\.tsx?"/g, '$1"$2"')];
  });
  return new Map([...sources, ["styles.css", partStyles()]]);
}

if (process.argv[1] === import.meta.filename) {
  const output = join(root, "dist", "parts");
  rmSync(output, { recursive: true, force: true });
  for (const [path, text] of partSources()) {
    mkdirSync(dirname(join(output, path)), { recursive: true });
    writeFileSync(join(output, path), text);
  }
}
