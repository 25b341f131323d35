// The file with the messengers of an agent, src/<agent>-messengers.ts: made with the first one, and given each further one.
// Pure. It is the user's: what was added is never written again.

export interface MessengerKind {
  readonly title: string;
  /** Option of the messenger by the variable that has it. */
  readonly variables: Readonly<Record<string, string>>;
  readonly packages: readonly string[];
  /** `url` is the address of the webhook. */
  readonly next: (url: string) => readonly string[];
}

export const MESSENGERS: Readonly<Record<string, MessengerKind>> = {
  telegram: {
    title: "Telegram",
    variables: { TELEGRAM_BOT_TOKEN: "token", TELEGRAM_WEBHOOK_SECRET_TOKEN: "secretToken" },
    packages: ["@chat-adapter/telegram"],
    next: (url) => [
      "TELEGRAM_BOT_TOKEN is BotFather's; TELEGRAM_WEBHOOK_SECRET_TOKEN any text of A-Z, a-z, 0-9, _ and -.",
      `npx everthink messenger telegram set-webhook ${url}`
    ]
  },
  slack: {
    title: "Slack",
    variables: { SLACK_BOT_TOKEN: "token", SLACK_SIGNING_SECRET: "signingSecret" },
    packages: [],
    next: (url) => [`At api.slack.com, for Event Subscriptions and Interactivity: ${url}`]
  },
  discord: {
    title: "Discord",
    variables: {
      DISCORD_BOT_TOKEN: "token",
      DISCORD_APPLICATION_ID: "applicationId",
      DISCORD_PUBLIC_KEY: "publicKey"
    },
    packages: [],
    next: (url) => [`In Discord's developer portal, as Interactions Endpoint URL: ${url}`]
  },
  teams: {
    title: "Teams",
    variables: { TEAMS_APP_ID: "appId", TEAMS_APP_PASSWORD: "appPassword" },
    packages: [],
    next: (url) => [`As the messaging endpoint of the bot in Azure: ${url}`]
  }
};

/** Undefined: it has another shape than it was made with. The same text: the messenger is there. */
export function withMessenger(text: string | undefined, kind: string, agent: string): string | undefined {
  const known = text ?? emptyFile(agent);
  const line = importLine(kind);
  if (known.includes(`"everthink/messengers/${kind}"`)) return known;
  const end = known.indexOf("\n  });");
  const lastImport = known.lastIndexOf("import ");
  const importEnd = known.indexOf("\n", lastImport);
  if (end === -1 || lastImport === -1 || importEnd === -1 || importEnd > end) return undefined;
  const head = `${known.slice(0, importEnd)}\n${line}`;
  const list = known.slice(importEnd, end);
  const comma = /\{\s*$/.test(list) || /,\s*$/.test(list) ? "" : ",";
  return `${head}${list}${comma}\n    ...${kind}(env as Variables)${known.slice(end)}\n${functionOf(kind, agent)}`;
}

const importLine = (kind: string) => `import ${kind}Messenger from "everthink/messengers/${kind}";`;

function emptyFile(agent: string): string {
  return `// The messengers of the agent "${agent}". Each is there when its variables are set: in .dev.vars on this machine, as secrets of the
// Worker on Cloudflare.
import { defineMessengers, type Messengers } from "everthink/messengers";

type Variables = Readonly<Record<string, string | undefined>>;

export function messengersOf(env: object) {
  return defineMessengers({
  });
}
`;
}

function functionOf(kind: string, agent: string): string {
  const entries = Object.entries(MESSENGERS[kind]?.variables ?? {});
  const taken = entries.map(([variable, option]) => `${variable}: ${option}`).join(", ");
  const options = entries.map(([, option]) => option);
  return `function ${kind}({ ${taken} }: Variables): Messengers {
  if (!${options.join(" || !")}) return {};
  return { ${kind}: ${kind}Messenger({ ${options.join(", ")}, userName: "${agent}" }) };
}
`;
}

const WEBHOOKS = `  // A messenger checks itself who sends to its webhook.
  needsNoLogin: ({ method, url }) => method === "POST" && /\\/messengers\\/[^/]+\\/webhook$/.test(new URL(url).pathname),
`;

/** The login lets webhooks through. Undefined: it has another shape than that of the starters. */
export function withOpenWebhooks(login: string): string | undefined {
  if (login.includes("needsNoLogin")) return login;
  const call = /createLogin(?:<[\w.]+>)?\(\{/.exec(login);
  if (call === null) return undefined;
  const at = call.index + call[0].length;
  const rest = login.slice(at);
  return `${login.slice(0, at)}\n${WEBHOOKS}  ${rest.trimStart().replace(/ \}\);\s*$/, "\n});\n")}`;
}
