// Commands about agents: running ones, and the user's own on the test host.
import type { CommandDefinition } from "../command-line.ts";
import { CONNECTION_OPTIONS, NAMED_AGENT_OPTIONS } from "./shared-options.ts";

const AGENT_TEXT = "id, class or binding of an agent of the project; else its segment in the address";
const AGENT = { name: "agent", isRequired: true, text: AGENT_TEXT } as const;
const INSTANCE = { name: "instance", text: "default; which object of the agent" } as const;

const chat: CommandDefinition = {
  name: "chat",
  summary: "talks to an agent in the terminal",
  description: [
    "Talks to an agent: Markdown as it streams, tool calls as cards, approvals as questions. Enter steers an answer that " +
      "runs, Alt+Enter is for after it, Ctrl-C stops it, and else leaves; the conversation stays with the agent.",
    "Without a terminal it sends one message (--message, or standard input), prints the answer and ends."
  ],
  examples: [
    "chat assistant ada",
    'chat assistant ada --message "Hello"',
    "chat assistant ada --url https://app.example.com --token …"
  ],
  arguments: [AGENT, INSTANCE],
  options: {
    message: { value: "text", short: "m", text: "sends this, prints the answer and ends" },
    history: { value: "n", text: "4; messages shown at the start" },
    json: { text: "with one message: { outcome, error, text, pendingApprovals, messages }" },
    ...CONNECTION_OPTIONS
  },
  exitCodes: {
    0: "the answer is complete, or you left",
    1: "the turn failed, or there is no connection within 15 s",
    2: "the answer waits for an approval: everthink approve"
  },
  load: async () => (await import("../commands/chat.ts")).runChat
};

const state: CommandDefinition = {
  name: "state",
  summary: "prints an agent's state and last messages",
  description: [
    "Prints an agent's identity, its state and its last messages. It sends nothing, so the agent stays as it is."
  ],
  examples: ["state assistant ada", "state assistant ada --limit 0 --json"],
  arguments: [AGENT, INSTANCE],
  options: {
    limit: { value: "n", text: "10; messages shown" },
    json: { text: "{ endpoint, identity, state, messages }" },
    ...CONNECTION_OPTIONS
  },
  exitCodes: { 0: "printed", 1: "there is no connection within 15 s" },
  load: async () => (await import("../commands/state.ts")).runState
};

const costs: CommandDefinition = {
  name: "costs",
  summary: "prints what an agent has spent under its budgets",
  description: [
    "Prints what an agent and its sub-agents have spent: by day, model, turn and account. The app must let it: " +
      "EVERTHINK_INSPECTION_KEY."
  ],
  examples: ["costs assistant ada", "costs assistant ada --json"],
  arguments: [AGENT, INSTANCE],
  options: {
    limit: { value: "n", text: "10; rows of each list" },
    json: { text: "the whole report" },
    ...CONNECTION_OPTIONS,
    token: { value: "key", text: "sent as a bearer token; without it EVERTHINK_INSPECTION_KEY of the environment" }
  },
  exitCodes: { 0: "printed", 1: "the key is wrong, or there is no answer within 15 s" },
  load: async () => (await import("../commands/costs.ts")).runCosts
};

const approve: CommandDefinition = {
  name: "approve",
  summary: "lists what an agent waits for, and decides over it",
  description: [
    "Approves a call that waits, by its call id or execution id. Without an id it lists what waits.",
    "With --all it lists what waits over all agents of the project, sub-agents included, and takes an id without an agent."
  ],
  examples: [
    "approve --all",
    "approve assistant --instance ada",
    "approve assistant call-bcb81aff --instance ada",
    "approve assistant call-bcb81aff --reject --reason late"
  ],
  arguments: [
    { name: "agent", text: `${AGENT_TEXT}; none with --all` },
    { name: "id", text: "of what waits" }
  ],
  options: {
    all: { text: "over all agents that wait, read from their files under everthink dev; of another server see --at" },
    instance: { value: "name", text: INSTANCE.text },
    reject: { text: "decides against it" },
    reason: { value: "text", text: "is kept with a rejection" },
    json: {
      text: "the list of { at?, id, action, input, mayHaveRun?, escalation? }; with an id { id, approved, output }"
    },
    ...CONNECTION_OPTIONS,
    ...NAMED_AGENT_OPTIONS
  },
  exitCodes: {
    0: "listed, or decided",
    1: "the id does not wait, the agent did not take the decision, or there is no connection within 15 s"
  },
  load: async () => (await import("../commands/approve.ts")).runApprove
};

const chaos: CommandDefinition = {
  name: "chaos",
  summary: "kills your own agent everywhere, and shows what it cost",
  description: [
    "Plays a conversation with your agent once undisturbed, then once per point of every disturbance (killed after a " +
      "write, inside an await, twice, frames twice or shuffled, another tab, a garbage row …), and prints a table of what " +
      "differed.",
    "The scenario is a module whose default export is what chaos() of everthink/testing takes: " +
      "{ agent, conversation, effects }."
  ],
  examples: ["chaos", "chaos --points 4 --modes after-write,inside-await"],
  arguments: [{ name: "scenario", text: "test/chaos.ts" }],
  options: {
    points: { value: "n", text: "40 per disturbance; 0 for all there are" },
    modes: {
      value: "a,b",
      text:
        "after-write, inside-await, killed-twice, restart-storm, deadly-answer, duplicate-frame, shuffled-frames, " +
        "join-anywhere, poison-row; all without it"
    },
    seed: { value: "n", text: "1; chooses the points" },
    json: { text: "the whole result" },
    root: { value: "folder", text: "the project; the current folder without it" }
  },
  exitCodes: { 0: "nothing differed", 1: "something did, or the scenario cannot be played" },
  load: async () => (await import("../commands/chaos.ts")).runChaos
};

export const AGENT_COMMANDS: readonly CommandDefinition[] = [chat, state, costs, approve, chaos];
