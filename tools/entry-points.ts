// The files that users import, by the name of what is built from them. The build and the tests read it; `exports` of
// package.json and `paths` of tsconfig.json say the same, and a test compares them.

/** Without an extension: a subpath of the package. */
export const ENTRY_POINTS: Readonly<Record<string, string>> = {
  index: "src/index.ts",
  agent: "src/agent/index.ts",
  "agent-tools": "src/features/agent-tools/index.ts",
  "ai-sdk": "src/features/clients/ai-sdk/index.ts",
  inspect: "src/features/inspection/index.ts",
  observe: "src/observe/index.ts",
  client: "src/client/index.ts",
  react: "src/client/react.ts",
  session: "src/session/index.ts",
  skills: "src/features/skills/index.ts",
  channels: "src/features/channels/index.ts",
  "chat-sdk": "src/features/chat-sdk/index.ts",
  messengers: "src/features/messengers/index.ts",
  "messengers/teams": "src/features/messengers/teams.ts",
  "messengers/slack": "src/features/messengers/slack.ts",
  "messengers/discord": "src/features/messengers/discord.ts",
  "messengers/telegram": "src/features/messengers/telegram.ts",
  testing: "src/testing/index.ts",
  "testing/messengers": "src/testing/messengers/index.ts",
  extensions: "src/features/extensions/index.ts",
  codemode: "src/features/execute/codemode/index.ts",
  "tools/execute": "src/features/execute/index.ts",
  "tools/extensions": "src/features/extensions/tools/index.ts",
  "tools/workspace": "src/features/workspace/tools/index.ts",
  workflows: "src/features/workflows/index.ts",
  build: "src/framework/build/index.ts",
  framework: "src/framework/index.ts",
  "server-entry": "src/framework/server-entry/index.ts",
  vite: "src/framework/vite/index.ts"
};
