// Commands that serve, and those about what is served.
import type { CommandDefinition } from "../command-line.ts";
import { CONNECTION_OPTIONS, NAMED_AGENT_OPTIONS } from "./shared-options.ts";

export const SERVE: CommandDefinition = {
  name: "serve",
  summary: "runs a built Worker on this machine, and keeps it running",
  description: [
    "Runs a built Worker on this machine, with its data in a folder, and keeps it running.",
    "GET /__think/health answers 200 as long as the Worker answers. SIGTERM and Ctrl-C stop; twice, at once."
  ],
  examples: ["serve", "serve --port 8080 --data /srv/shop --var OPENAI_API_KEY", "serve worker.js --objects Assistant"],
  arguments: [
    {
      name: "build",
      text:
        "a folder with a wrangler.json, that file, a folder with an index.js, or one bundled module. Without it: the " +
        "build that vite build wrote here"
    }
  ],
  options: {
    port: { value: "number", text: "8787; 0 to 65535, 0 takes any free one" },
    host: {
      value: "address",
      text: "127.0.0.1, reachable from this machine only; 0.0.0.0 or * for all of its addresses"
    },
    "allow-host": {
      value: "name",
      isRepeatable: true,
      text:
        "on such an address: answers to this host name too, as a proxy passes it on; may be repeated, * for all. " +
        "Others than localhost, 127.0.0.1 and [::1] are refused without it"
    },
    data: { value: "folder", text: ".data; made when it does not exist. One folder belongs to one instance" },
    // Not "env-file": Node takes that for its own, wherever it stands.
    var: {
      value: "NAME",
      isRepeatable: true,
      text: "gives the Worker this variable of the environment; may be repeated"
    },
    "var-file": {
      value: "file",
      text: "NAME=value lines for the Worker; without it .dev.vars beside the build, if there is one"
    },
    "allow-private-network": { text: "lets the Worker's fetch() reach this machine and its local network" },
    "health-timeout": {
      value: "s",
      text: "30; 0.1 to 3600. Without an answer for so long, the Worker is killed and started again"
    },
    "body-timeout": {
      value: "s",
      text: "30; 0.1 to 3600. A request whose body is silent for so long is answered with 408, and one that is too slow after four times as long"
    },
    grace: { value: "s", text: "5; 0 to 3600. What running requests get when the server is asked to stop" },
    plug: { text: "for development: POST /__think/plug of a page kills workerd, which is started again at once" },
    studio: { text: "looks inside its agents, on a page of this machine" },
    "studio-write": { text: "the same, and that page decides over approvals and tries turns again" }
  },
  special: {
    title: "For a build without a wrangler.json",
    options: {
      objects: {
        value: "A,B",
        isRepeatable: true,
        text: "Durable Object classes, each bound under its own name; may be repeated"
      },
      loader: { value: "NAME", text: "binds a loader for dynamic Workers" },
      assets: { value: "folder", text: "serves these files; bound as ASSETS" },
      "compatibility-date": { value: "yyyy-mm-dd", text: "of the Worker" }
    }
  },
  exitCodes: {
    0: "it was stopped",
    1: "it cannot serve: an option, the build, the data folder, the address, or a Worker that does not start"
  },
  isServer: true,
  load: async () => (await import("../commands/serve.ts")).runServe
};

export const STUDIO: CommandDefinition = {
  name: "studio",
  summary: "looks inside a running agent, on a page of this machine",
  description: [
    "Opens a page on this machine that looks inside a running agent. The app must let it: EVERTHINK_INSPECTION_KEY."
  ],
  examples: ["studio", "studio assistant ada --write", "studio --url https://app.example.com"],
  arguments: [
    { name: "agent", text: "id, class or binding of an agent; those of the project are offered without it" },
    {
      name: "instance",
      text: "which object of the agent; without it the one active last, default for another server than everthink dev"
    }
  ],
  options: {
    ...CONNECTION_OPTIONS,
    token: {
      value: "key",
      text: "sent as a bearer token; without it EVERTHINK_INSPECTION_KEY of the environment"
    },
    query: { ...CONNECTION_OPTIONS.query, text: "added to every request; may be repeated" },
    ...NAMED_AGENT_OPTIONS,
    port: { value: "number", text: "4321, or the next free one of 20; 0 to 65535, 0 takes any" },
    write: { text: "lets the page decide over approvals and try turns again; otherwise it only reads" }
  },
  exitCodes: { 0: "it was stopped", 1: "an option is wrong, or no port is free" },
  isServer: true,
  load: async () => (await import("../commands/studio.ts")).runStudio
};

export const SET_WEBHOOK: CommandDefinition = {
  name: "messenger telegram set-webhook",
  summary: "registers the address to which Telegram sends a bot's messages",
  description: ["Tells Telegram where the bot's messages go. Token and secret are read from the environment."],
  examples: [
    "messenger telegram set-webhook https://app.example.com/agents/assistant/main/messengers/telegram/webhook"
  ],
  arguments: [{ name: "url", isRequired: true, text: "the https address of the agent's webhook" }],
  options: {
    "token-var": { value: "NAME", text: "TELEGRAM_BOT_TOKEN" },
    "secret-var": { value: "NAME", text: "TELEGRAM_WEBHOOK_SECRET_TOKEN" }
  },
  exitCodes: { 0: "Telegram has it", 1: "a variable is not set, the address is not https, or Telegram refused it" },
  load: async () => (await import("../commands/set-webhook.ts")).runSetWebhook
};

export const SERVER_COMMANDS: readonly CommandDefinition[] = [SERVE, STUDIO, SET_WEBHOOK];
