// What a new project holds: a starter's files with its own name, version and prefix put in. Pure.
import { applyEdits, modify } from "jsonc-parser";

export interface ProjectSettings {
  readonly name: string;
  /** What the project's package.json asks for. */
  readonly everthink: string;
  readonly routePrefix?: string;
}

export function projectFiles(starter: ReadonlyMap<string, string>, settings: ProjectSettings): Map<string, string> {
  const files = new Map(starter);
  change(files, "package.json", (text) => {
    const manifest = JSON.parse(text) as { dependencies: Record<string, string> };
    const dependencies = { ...manifest.dependencies, everthink: settings.everthink };
    return `${JSON.stringify({ ...manifest, name: settings.name, dependencies }, null, 2)}\n`;
  });
  change(files, "wrangler.jsonc", (text) => applyEdits(text, modify(text, ["name"], settings.name, {})));
  change(files, "README.md", (text) => text.replace(/^# .*/, `# ${settings.name}`));
  const { routePrefix } = settings;
  if (routePrefix === undefined) return files;
  change(files, "vite.config.ts", (text) =>
    text.replace(/(?<=\n +)think\(\{ /, `think({ routePrefix: ${JSON.stringify(routePrefix)}, `)
  );
  const merged = `thinkWorkerConfig({ routePrefix: ${JSON.stringify(routePrefix)} })`;
  change(files, "vite.config.ts", (text) => text.replace("config: thinkWorkerConfig()", `config: ${merged}`));
  const prefix = JSON.stringify(routePrefix.replace(/^\/+|\/+$/g, ""));
  for (const path of [...files.keys()].filter((name) => /^page\/[\w-]+\.tsx?$/.test(name))) {
    change(files, path, (text) =>
      text
        .replace(/\bagent: "(assistant|conversations)",/g, `agent: "$1", prefix: ${prefix},`)
        .replace(/(\n *)agent="assistant"/, `$1agent="assistant"$1prefix=${prefix}`)
    );
  }
  return files;
}

function change(files: Map<string, string>, path: string, edit: (text: string) => string): void {
  const text = files.get(path);
  if (text !== undefined) files.set(path, edit(text));
}

/** As npm and Wrangler accept it. */
export function packageName(text: string): string {
  const name = text
    .toLowerCase()
    .replace(/[^a-z\d-]+/g, "-")
    .replace(/^-+|-+$/g, "");
  return name === "" ? "think-agent" : name;
}

const ADJECTIVES = ["calm", "bright", "quick", "gentle", "keen", "brave", "quiet", "warm", "clever", "steady"];
const NOUNS = ["otter", "harbor", "maple", "comet", "falcon", "river", "lantern", "meadow", "beacon", "willow"];

export function randomProjectName(random: () => number): string {
  const one = (words: readonly string[]) => words[Math.floor(random() * words.length)] ?? words[0];
  return `think-agent-${one(ADJECTIVES)}-${one(NOUNS)}`;
}

/** A project's package.json with what an agent needs; the user's entries win, but for the kind of its modules. */
export function mergedPackage(user: string, starter: string, everthink: string): string {
  const own = JSON.parse(user) as Record<string, Record<string, string> | undefined>;
  const needed = JSON.parse(starter) as Record<string, Record<string, string>>;
  const section = (name: string) => ({ ...needed[name], ...own[name] });
  const dependencies = { ...needed["dependencies"], everthink, ...own["dependencies"] };
  const merged = {
    ...own,
    type: "module",
    scripts: section("scripts"),
    dependencies,
    devDependencies: section("devDependencies")
  };
  return `${JSON.stringify(merged, null, 2)}\n`;
}
