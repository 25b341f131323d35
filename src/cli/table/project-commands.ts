// Commands about the files of a project.
import type { CommandDefinition, OptionTable } from "../command-line.ts";
import { PROJECT_OPTIONS } from "./shared-options.ts";

const MODEL_OPTIONS = {
  "key-var": {
    value: "NAME",
    text: "the variable of the shell that has the provider's key, which is then written to .dev.vars"
  },
  "model-name": { value: "id", text: "which model of the provider; its usual one without it" },
  "model-url": { value: "url", text: "of a compatible server, such as http://localhost:11434/v1" },
  account: { value: "id", text: "of Cloudflare, for workers-ai" },
  "check-key": { isOnByDefault: true, text: "does not ask the provider whether key and model work" }
} as const satisfies OptionTable;

const init: CommandDefinition = {
  name: "init",
  summary: "makes a project, or adds an agent to one",
  description: [
    "Makes a project from a starter, or adds an agent to the project in the current folder (one with a package.json). " +
      "Files that exist are never overwritten."
  ],
  examples: [
    "init shop --template customer-support",
    "init shop --model anthropic --key-var ANTHROPIC_API_KEY",
    "init --dry-run"
  ],
  arguments: [{ name: "directory", text: "where; asked for in a terminal. Relative, and empty or not there yet" }],
  options: {
    template: {
      value: "name",
      text:
        "basic; or personal-assistant, coding-agent, customer-support, webhook-agent, business-workflow, " +
        "telegram-bot, slack-bot"
    },
    model: {
      value: "provider",
      text: "offline; or openai, anthropic, google, workers-ai, compatible. Asked for in a terminal"
    },
    ...MODEL_OPTIONS,
    name: { value: "name", text: "of the package and the Worker; the folder's name without it" },
    "route-prefix": { value: "path", text: "/agents" },
    yes: { short: "y", text: "asks nothing; without a directory it makes one with a random name" },
    install: { isOnByDefault: true, text: "leaves npm install to you" },
    package: { value: "spec", text: "which everthink the project depends on; this version without it" },
    "dry-run": { text: "writes nothing, and lists what it would" },
    json: { text: "{ directory, template, files, kept, isWritten, isInstalled, isCommitted, model }" },
    root: { value: "folder", text: "where the directory is; the current folder without it" }
  },
  exitCodes: {
    0: "the project is there, or it is an everthink project already",
    1: "nothing was written: the directory holds files, the template is unknown, or you gave up"
  },
  load: async () => (await import("../commands/init.ts")).runInit
};

const dev: CommandDefinition = {
  name: "dev",
  summary: "runs the project with Vite, reloaded as you edit",
  description: [
    "Runs the project with Vite: agents, Worker and page, reloaded as you edit. A new file below agents/ is taken up at once.",
    "In a terminal it shows the address, the turns as they run, and keys: o opens the page, s Studio, c talks to an agent, l " +
      "shows fewer lines of the log, r kills the server and starts it again, q quits, ? says this."
  ],
  examples: ["dev", "dev --port 8080 -- --open", "dev --plain"],
  options: {
    port: {
      value: "number",
      text: "5173, or the next free one; a port that is given must be free; 0 to 65535, 0 takes any"
    },
    host: { value: "address", text: "localhost" },
    plain: { text: "Vite's own lines and keys, as without a terminal" },
    ...PROJECT_OPTIONS
  },
  passesFlagsTo: "vite dev",
  exitCodes: {
    0: "it was stopped",
    1: "there is no Vite project here, the given port is taken, or Vite ended by itself (then its code)"
  },
  isServer: true,
  load: async () => (await import("../commands/dev.ts")).runDev
};

const inspect: CommandDefinition = {
  name: "inspect",
  summary: "shows the agents of a project, and what is wrong with it",
  description: ["Shows the agents of a project, their routes and objects, and everything that is wrong."],
  examples: ["inspect", "inspect --json"],
  options: {
    ...PROJECT_OPTIONS,
    json: { text: "{ root, manifest, workerConfig, diagnostics, wranglerConfig }" },
    env: { value: "name", text: "an environment of the Wrangler file" },
    "allow-non-virtual-main": { text: "the Worker has a main module of its own, which re-exports the entry" }
  },
  exitCodes: { 0: "no diagnostic is an error", 1: "at least one is" },
  load: async () => (await import("../commands/inspect.ts")).runInspect
};

const types: CommandDefinition = {
  name: "types",
  summary: "writes everthink.d.ts, or checks whether it is current",
  description: ["Writes everthink.d.ts: the virtual modules, and the project's objects in Cloudflare.Env."],
  examples: ["types", "types --check"],
  options: {
    check: { text: "writes nothing; fails if a file would change" },
    "dry-run": { text: "writes nothing; says what would be written" },
    "types-file": { value: "file", text: "everthink.d.ts" },
    all: { text: 'first runs "wrangler types" for the other bindings' },
    "wrangler-env-file": { value: "file", text: "env.d.ts; where that goes" },
    json: { text: "{ path, state }: written, current or stale" },
    ...PROJECT_OPTIONS
  },
  passesFlagsTo: "wrangler types",
  exitCodes: {
    0: "written, or current",
    1: "stale with --check; the file was not written by everthink; wrangler failed"
  },
  load: async () => (await import("../commands/declarations.ts")).runTypes
};

const config: CommandDefinition = {
  name: "config",
  summary: "prints the Worker configuration, or writes it into the Wrangler file",
  description: [
    "Prints the project's Worker configuration, as JSON, with the bindings and migrations of its agents. With --write it " +
      "adds what is missing to wrangler.jsonc (or .json), and keeps comments and everything that is there. " +
      '"wrangler deploy" without Vite needs the written form; a vite.config.ts with ' +
      "cloudflare({ config: thinkWorkerConfig() }) does not."
  ],
  examples: ["config", "config --write"],
  options: { write: { text: "writes the file" }, ...PROJECT_OPTIONS },
  exitCodes: { 0: "printed, written, or nothing was missing", 1: "the Wrangler file cannot be read, or is TOML" },
  load: async () => (await import("../commands/config.ts")).runConfig
};

const eject: CommandDefinition = {
  name: "eject",
  summary: "prints the generated code, or writes it to a file",
  description: [
    "Prints the code that everthink generates from agents/. With a file it is written there, to be the Worker's main " +
      'module without the plugin: set "main" in the Wrangler file to it, and run everthink config --write.'
  ],
  examples: ["eject", "eject src/worker.ts"],
  arguments: [
    { name: "file", text: "of the project, and not there yet; prints the code of a src/worker.ts without it" }
  ],
  options: {
    authorize: { value: "file", text: "who may enter; the one of vite.config.ts without it" },
    ...PROJECT_OPTIONS
  },
  exitCodes: {
    0: "printed, or written",
    1: "the file exists or is outside of the project, or it cannot be read off vite.config.ts who may enter"
  },
  load: async () => (await import("../commands/eject.ts")).runEject
};

const add: CommandDefinition = {
  name: "add",
  summary: "gives a project another model, a messenger, an MCP server, or skills",
  description: [
    "With a provider: sets the provider that answers in .dev.vars, with its key and model, and asks it once whether both work. Other lines of " +
      "the file stay. For projects whose models/model.ts chooses by these variables, as every starter has it.",
    "With messenger or mcp: writes src/<agent>-messengers.ts or src/<agent>-mcp.ts, and the lines in the agent's class that use it. " +
      "With skills: copies the skills for coding agents to .claude/skills and .agents/skills, and names them in AGENTS.md. What is there " +
      "already is not added again.",
    "With chat: copies the sources of everthink/react's parts into the project, to be changed there. No file is overwritten."
  ],
  arguments: [
    {
      name: "what",
      isRequired: true,
      text: "openai, anthropic, google, workers-ai, compatible, offline; messenger, mcp, skills, or chat"
    },
    { name: "which", text: "of messenger: telegram, slack, discord or teams; of mcp: the address of the server" }
  ],
  examples: [
    "add anthropic",
    "add messenger telegram",
    "add mcp https://docs.example.com/mcp",
    "add skills",
    "add chat",
    "add compatible --model-url http://localhost:11434/v1 --model-name qwen3"
  ],
  options: {
    ...MODEL_OPTIONS,
    agent: { value: "id", text: "of messenger and mcp: which agent; the only one, or assistant, without it" },
    name: { value: "id", text: "of mcp: what its tools are named after; a word of the address without it" },
    to: { value: "folder", text: "of chat: page/chat" },
    json: {
      text:
        "{ provider, state, problem }, of chat { folder, files, missing }, else { changed, next }; state is works, refused, " +
        "unchecked, without-key or offline"
    },
    ...PROJECT_OPTIONS
  },
  exitCodes: {
    0: "written, or it was there",
    1: "nothing was written: an answer is missing, a file exists or has another shape, or this is no project"
  },
  load: async () => (await import("../commands/add.ts")).runAdd
};

const doctor: CommandDefinition = {
  name: "doctor",
  summary: "finds what is wrong with a project, each with its mend",
  description: [
    "Looks at what is installed, agents and configuration, generated types, who may enter, .dev.vars and secrets in Git, and " +
      "asks the provider of the model once whether it takes the key. It changes nothing."
  ],
  examples: ["doctor", "doctor --offline --json"],
  options: {
    offline: { text: "asks no provider" },
    json: { text: "[{ level, text, mend? }]; level is error, warning or ok" },
    ...PROJECT_OPTIONS
  },
  exitCodes: { 0: "no finding is an error", 1: "at least one is, or this is no project" },
  load: async () => (await import("../commands/doctor.ts")).runDoctor
};

const deploy: CommandDefinition = {
  name: "deploy",
  summary: "checks, builds and deploys the project to Cloudflare, and prints its address",
  description: [
    "Checks the project as everthink doctor does, builds it with Vite, deploys it with the project's Wrangler, and prints the " +
      "address. An error that a check finds stops it before anything is built."
  ],
  examples: ["deploy", "deploy --dry-run", "deploy --secrets --env staging"],
  options: {
    "dry-run": { text: "builds, and uploads nothing; needs no login and no network" },
    secrets: { text: "sets the variables of .dev.vars as secrets of the Worker; without it they stay here" },
    env: { value: "name", text: "an environment of the Wrangler file" },
    ...PROJECT_OPTIONS
  },
  passesFlagsTo: "wrangler deploy",
  exitCodes: { 0: "deployed, or with --dry-run built", 1: "a check found an error, or Vite or Wrangler failed" },
  load: async () => (await import("../commands/deploy.ts")).runDeploy
};

const logs: CommandDefinition = {
  name: "logs",
  summary: "prints or follows what the project's server printed, or a deployed Worker",
  description: [
    "Prints the last lines of the log that everthink dev or everthink serve writes, of the one that wrote last, and follows it. " +
      "With --deployed it is what the Worker on Cloudflare prints from now on, through wrangler tail."
  ],
  examples: ["logs", "logs --follow --level error", "logs --agent ada --lines 20", "logs --deployed --env staging"],
  options: {
    follow: { short: "f", text: "goes on with what is printed from now on, until Ctrl-C" },
    lines: { value: "n", text: "100; of what fits, the last so many" },
    level: { value: "name", text: "info; or warn, error: these and what is louder" },
    agent: { value: "name", text: "lines that have this word: an agent or an instance" },
    turn: { value: "id", text: "lines that have this word: the request of a turn" },
    deployed: { text: "of the deployed Worker; needs a login of wrangler" },
    env: { value: "name", text: "an environment of the Wrangler file, for --deployed" },
    data: { value: "folder", text: "of everthink serve: .data" },
    json: { text: "a line each: { time, level, text }" },
    root: PROJECT_OPTIONS.root
  },
  passesFlagsTo: "wrangler tail",
  exitCodes: { 0: "printed, or it was stopped", 1: "there is no log, or wrangler failed" },
  isServer: true,
  load: async () => (await import("../commands/logs.ts")).runLogs
};

const upgrade: CommandDefinition = {
  name: "upgrade",
  summary: "installs the newest version of everthink, and says what changes",
  description: [
    "Finds the newest version that does not break what the project uses, prints what its changelog and docs/upgrading.md say of the " +
      "versions in between, writes it into package.json, and runs npm install. With uncommitted changes it stops first."
  ],
  examples: ["upgrade --dry-run", "upgrade", "upgrade --latest"],
  options: {
    latest: { text: "the newest version of all, also one that may break something" },
    to: { value: "version", text: "this one" },
    "dry-run": { text: "says what would change, and changes nothing" },
    force: { text: "also with changes that are not committed, or outside of Git" },
    json: { text: "{ installed, target, beyond, changes, isWritten }" },
    root: PROJECT_OPTIONS.root
  },
  exitCodes: {
    0: "installed, listed, or there is nothing newer",
    1: "npm cannot be asked or failed, or there are uncommitted changes"
  },
  load: async () => (await import("../commands/upgrade.ts")).runUpgrade
};

const user: CommandDefinition = {
  name: "user",
  summary: "lets a person log in to an app with createLogin()",
  description: [
    "Asks for a password, and prints what LOGIN_USERS and SESSION_SECRET must be: the hashed passwords of all who may log " +
      "in, and what sessions are signed with. Those that .dev.vars names stay; a person who is there gets a new password."
  ],
  examples: ["user ada@example.com --write", "user ada@example.com --password-var PASSWORD --json"],
  arguments: [{ name: "e-mail", isRequired: true, text: "who; it is the name of the person's agent, too" }],
  options: {
    write: { text: "writes both into .dev.vars, and does not print them" },
    "password-var": { value: "NAME", text: "the variable of the shell that has the password; asked for without it" },
    json: { text: "{ LOGIN_USERS, SESSION_SECRET }" },
    root: PROJECT_OPTIONS.root
  },
  exitCodes: { 0: "printed, or written", 1: "there is no password, or it has fewer than 8 characters" },
  load: async () => (await import("../commands/user.ts")).runUser
};

const docs: CommandDefinition = {
  name: "docs",
  summary: "prints a page of the documentation of this version",
  description: [
    "Prints a page as Markdown. Of a word that is no page it lists the pages that have it. Without one it lists all pages."
  ],
  examples: ["docs", "docs actions", "docs idempotencyKey"],
  arguments: [{ name: "topic", text: "a page, such as actions, security or a command; or a word" }],
  options: { json: { text: "{ pages: [{ name, title }] }, or of one page { name, title, text }" } },
  exitCodes: { 0: "printed", 1: "there is no such page, and none has the word" },
  load: async () => (await import("../commands/docs.ts")).runDocs
};

const migrate: CommandDefinition = {
  name: "migrate",
  summary: "moves a project and its data from @cloudflare/think and agents",
  description: [
    "Moves a project from @cloudflare/think and agents to everthink. Without --write nothing is changed: it shows the " +
      "difference, what has no counterpart, and what would become of local data."
  ],
  examples: ["migrate", "migrate shop --write"],
  arguments: [{ name: "folder", text: "the project; the current folder without it" }],
  options: {
    write: { text: "makes the changes" },
    "dry-run": { text: "shows them only; the default" },
    data: {
      value: "folder",
      isRepeatable: true,
      text:
        "local data to try the take-over on, on copies; may be repeated. Without it .wrangler/state and .data of the " +
        "project, if they exist"
    },
    json: { text: "{ isWhole, isWritten, changes, notes, objects }" }
  },
  exitCodes: {
    0: "everything has a counterpart, or may stay",
    1: "something has none or must be looked at, an object would be refused, or there is no such folder"
  },
  load: async () => (await import("../commands/migrate.ts")).runMigrate
};

export const SKILLS_BUILD: CommandDefinition = {
  name: "skills build",
  summary: "a folder of skills as a module, for builds without Vite",
  description: ["Writes a module whose default export is a source of the skills in a folder, for builds without Vite."],
  examples: ["skills build", "skills build agents/assistant/skills --out skills.ts"],
  arguments: [{ name: "folder", text: "skills" }],
  options: { out: { value: "file", text: "<folder>.generated.ts; a .ts or .js file" } },
  exitCodes: { 0: "written; a skill that is broken is named and left out", 1: "there is no such folder" },
  load: async () => (await import("../commands/skills.ts")).runSkillsBuild
};

export const PROJECT_COMMANDS: readonly CommandDefinition[] = [
  init,
  dev,
  inspect,
  types,
  config,
  eject,
  add,
  doctor,
  deploy,
  logs,
  upgrade,
  user,
  SKILLS_BUILD,
  docs,
  migrate
];
