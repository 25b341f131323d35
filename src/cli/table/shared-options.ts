// Options that several commands have.
import type { OptionTable } from "../command-line.ts";

export const PROJECT_OPTIONS = {
  root: { value: "folder", text: "the project; the current folder without it" },
  "route-prefix": { value: "path", text: "the one of vite.config.ts, else /agents" }
} as const satisfies OptionTable;

/** Where what waits over all agents cannot be read from files of this machine. */
export const NAMED_AGENT_OPTIONS = {
  at: {
    value: "agent/instance",
    isRepeatable: true,
    text: "asks this agent whether it waits, such as assistant/main or assistant/main/sub/critic/1; may be repeated"
  },
  "waiting-list": { value: "path", text: "of the server, answers a JSON list of such addresses; up to 1,000 are asked" }
} as const satisfies OptionTable;

export const CONNECTION_OPTIONS = {
  url: { value: "origin", text: "where the server is, such as https://app.example.com" },
  host: { value: "host:port", text: "that of the project's everthink dev; localhost:5173 outside of a project" },
  protocol: { value: "ws|wss", text: "ws; wss for a --host that has TLS" },
  token: { value: "text", text: "goes into the address as ?token=" },
  query: { value: "key=value", isRepeatable: true, text: "goes into the address; may be repeated" },
  root: { value: "folder", text: "the project, for the names of its agents; the current folder without it" },
  "route-prefix": { value: "path", text: "the one of vite.config.ts, else /agents" }
} as const satisfies OptionTable;
