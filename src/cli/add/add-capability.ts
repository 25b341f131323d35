// `everthink add messenger`, `add mcp` and `add skills`: files of the project and lines in them, each once. What cannot be put
// in place without guessing is said instead, with what to write.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DECLARATIONS_FILE, readVariables } from "../../framework/project/declared-variables.ts";
import { CommandError, type CliContext } from "../cli-context.ts";
import { usageError, type ParsedArguments } from "../command-line.ts";
import { requireBelow } from "../init/write-files.ts";
import { loadParser, loadProject } from "../load-project.ts";
import { addMember, importPath, type AddedMember } from "./agent-source.ts";
import { serverId, withServer } from "./mcp-file.ts";
import { MESSENGERS, withMessenger, withOpenWebhooks } from "./messenger-file.ts";

export interface Addition {
  /** Paths in the project. */
  readonly changed: readonly string[];
  readonly next: readonly string[];
}

export async function addMessenger(parsed: ParsedArguments, context: CliContext): Promise<Addition> {
  const kind = parsed.positionals[1] ?? "";
  const messenger = MESSENGERS[kind];
  if (messenger === undefined) {
    throw usageError(parsed.name, `Which messenger? There are: ${Object.keys(MESSENGERS).join(", ")}.`);
  }
  const agent = await agentOf(parsed, context);
  const path = `src/${agent.id}-messengers.ts`;
  const files = new ProjectFiles(agent.root);
  files.change(path, (text) => withMessenger(text, kind, agent.id), `Add ${kind}Messenger() to it by hand.`);
  await files.changeAgent(agent, {
    import: `import { messengersOf } from "${importPath(agent.path, path)}";`,
    name: "getMessengers",
    member: [`${agent.override}getMessengers() {`, "  return messengersOf(this.env);", "}"]
  });
  if (existsSync(join(agent.root, "src/login.ts"))) {
    files.change("src/login.ts", (text = "") => withOpenWebhooks(text), "Let POST …/messengers/<id>/webhook through.");
  }
  files.declare(Object.keys(messenger.variables));
  const url = `https://<your app>${agent.prefix}/${agent.id}/main/messengers/${kind}/webhook`;
  const packages = messenger.packages.filter((name) => !isListed(agent.root, name));
  return files.write([
    ...(packages.length === 0 ? [] : [`npm install ${packages.join(" ")}`]),
    `Set ${Object.keys(messenger.variables).join(", ")}: in .dev.vars here, on Cloudflare with npx wrangler secret put <NAME>.`,
    ...messenger.next(url),
    "More: npx everthink docs messengers"
  ]);
}

export async function addServer(parsed: ParsedArguments, context: CliContext): Promise<Addition> {
  const given = parsed.positionals[1] ?? "";
  if (!/^https?:\/\//.test(given) || !URL.canParse(given)) {
    throw usageError(
      parsed.name,
      `mcp takes the address of a server like https://docs.example.com/mcp, not "${given}".`
    );
  }
  const { href: url } = new URL(given);
  const id = parsed.text("name") ?? serverId(new URL(given));
  if (!/^[a-z\d_-]{1,64}$/.test(id)) throw usageError(parsed.name, `--name has a-z, 0-9, _ and -, not "${id}".`);
  const agent = await agentOf(parsed, context);
  const path = `src/${agent.id}-mcp.ts`;
  const files = new ProjectFiles(agent.root);
  files.change(path, (text) => withServer(text, { id, url, agent: agent.id }), `Or another server is "${id}": --name.`);
  const register = "for (const [id, server] of Object.entries(MCP_SERVERS)) this.mcp.registerServer(id, server);";
  await files.changeAgent(agent, {
    import: `import { MCP_SERVERS } from "${importPath(agent.path, path)}";`,
    name: "onStart",
    member: [`${agent.override}onStart() {`, `  ${register}`, "}"],
    statement: register
  });
  const client = "@modelcontextprotocol/client";
  return files.write([
    ...(isListed(agent.root, client) ? [] : [`npm install ${client}`]),
    `Its tools are named tool_${id}_…. A server that wants a login or a header: npx everthink docs mcp`
  ]);
}

/** Where coding agents look for skills. */
const SKILL_FOLDERS = [".claude/skills", ".agents/skills"];
const POINTER = "## Skills";

export function addSkills(root: string, { place }: CliContext): Addition {
  const files = new ProjectFiles(root);
  const skills = readdirSync(place.agentSkillsFolder);
  const kept: string[] = [];
  for (const skill of skills) {
    const text = readFileSync(join(place.agentSkillsFolder, skill, "SKILL.md"), "utf8");
    for (const folder of SKILL_FOLDERS) {
      // One that was changed is the user's.
      const path = `${folder}/${skill}/SKILL.md`;
      files.change(path, (before = text) => before, "");
      if (files.differs(path, text))
        kept.push(`${path} differs from this version's and was kept; without it, it is written anew.`);
    }
  }
  files.change("AGENTS.md", (before = "# For coding agents\n") => withPointer(before, skills), "");
  return files.write([...kept, "Commit them: coding agents read AGENTS.md, and the skills when a task is about them."]);
}

function withPointer(text: string, skills: readonly string[]): string {
  if (text.includes(`.agents/skills/${skills[0]}`)) return text;
  const lines = skills.map((skill) => `- \`.agents/skills/${skill}/SKILL.md\``);
  return `${text.trimEnd()}\n\n${POINTER}\n\nRead the one that fits before you change or debug an agent:\n\n${lines.join("\n")}\n`;
}

interface NamedAgent {
  readonly root: string;
  readonly id: string;
  /** Of its file. */
  readonly path: string;
  readonly prefix: string;
  /** As its language wants it. */
  readonly override: "override " | "";
}

/** Of the starters, some of which have a second agent for the list of conversations. */
const USUAL_AGENT = "assistant";

async function agentOf(parsed: ParsedArguments, context: CliContext): Promise<NamedAgent> {
  const { root, manifest } = await loadProject(parsed, context);
  const agents = manifest.agents.filter(({ kind }) => kind === "top-level");
  const wanted = parsed.text("agent");
  const known = agents.map(({ id }) => id).join(", ");
  const usual = agents.some(({ id }) => id === USUAL_AGENT) ? USUAL_AGENT : undefined;
  const named = wanted ?? usual;
  const [agent, another] = named === undefined ? agents : agents.filter(({ id }) => id === named);
  if (agent === undefined) {
    throw new CommandError(
      wanted === undefined ? "The project has no agent." : `The project has no agent "${wanted}".`,
      known === "" ? "Add one: agents/assistant.ts" : `It has: ${known}.`
    );
  }
  if (another !== undefined) throw usageError(parsed.name, `Which agent? --agent takes one of: ${known}.`);
  const prefix = `/${manifest.routePrefix.replaceAll(/^\/+|\/+$/g, "")}`;
  return {
    root,
    id: agent.id,
    path: agent.sourcePath,
    prefix,
    override: /\.tsx?$/.test(agent.sourcePath) ? "override " : ""
  };
}

/** Changes that are written together: what is impossible is found before the first file is written. */
class ProjectFiles {
  readonly #root: string;
  readonly #texts = new Map<string, string>();

  constructor(root: string) {
    this.#root = root;
  }

  /** Undefined of `edit`: it cannot be done, and the hint says what the user does. */
  change(path: string, edit: (text: string | undefined) => string | undefined, hint: string): void {
    const text = edit(this.#read(path));
    if (text === undefined) throw new CommandError(`${path} has another shape than it was made with.`, hint);
    this.#texts.set(path, text);
  }

  async changeAgent({ root, path }: NamedAgent, added: AddedMember): Promise<void> {
    const parse = await loadParser(root);
    if (parse === undefined)
      throw new CommandError("Vite is not installed in this project.", "Install it: npm install");
    const change = addMember({ path, text: this.#read(path) ?? "" }, added, parse);
    if (change.state === "impossible") {
      const lines = [added.import, ...(added.statement === undefined ? added.member : [added.statement])];
      throw new CommandError(`${change.why} Nothing was changed.`, `Write this there:\n${lines.join("\n")}`);
    }
    if (change.state === "changed") this.#texts.set(path, change.text);
  }

  /** Names of variables, for .dev.vars.example. */
  declare(names: readonly string[]): void {
    const known = readVariables(this.#root, DECLARATIONS_FILE);
    const added = names.filter((name) => !known.has(name));
    const text = this.#read(DECLARATIONS_FILE);
    if (text === undefined || added.length === 0) return;
    this.#texts.set(DECLARATIONS_FILE, `${text.trimEnd()}\n${added.map((name) => `${name}=\n`).join("")}`);
  }

  differs(path: string, text: string): boolean {
    return this.#texts.get(path) !== text;
  }

  write(next: readonly string[]): Addition {
    const changed = [...this.#texts].filter(([path, text]) => this.#read(path) !== text);
    requireBelow(
      this.#root,
      changed.map(([path]) => path)
    );
    for (const [path, text] of changed) {
      mkdirSync(dirname(join(this.#root, path)), { recursive: true });
      writeFileSync(join(this.#root, path), text);
    }
    return { changed: changed.map(([path]) => path), next };
  }

  #read(path: string): string | undefined {
    const file = join(this.#root, path);
    return existsSync(file) ? readFileSync(file, "utf8") : undefined;
  }
}

/** Whether the project's package.json depends on it. */
export function isListed(root: string, name: string): boolean {
  const path = join(root, "package.json");
  if (!existsSync(path)) return false;
  const { dependencies = {} } = JSON.parse(readFileSync(path, "utf8")) as { dependencies?: Record<string, string> };
  return Object.hasOwn(dependencies, name);
}
