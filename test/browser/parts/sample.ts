// A conversation that shows everything the parts can show. No agent stands behind it: what is pressed is kept as a list.
import type { UIMessage } from "ai";
import type { WaitingApproval } from "../../../src/client/index.ts";
import type { ConversationView } from "../../../src/client/react.ts";

const SENT = "sent";

/** What the page has handed to its client, as lines. */
export function record(what: string, ...details: unknown[]): void {
  const list = JSON.parse(document.body.dataset[SENT] ?? "[]") as string[];
  document.body.dataset[SENT] = JSON.stringify([
    ...list,
    `${what} ${details.map((one) => JSON.stringify(one)).join(" ")}`.trim()
  ]);
}

const MARKDOWN = `## Lights of the coast

Each light has a **rhythm**; a *sailor* counts the flashes. See [the list](https://example.org/lights), and never
[this](javascript:alert(1)).

| Light | Flashes | Every |
| --- | --- | --- |
| North Head | 2 | 10 s |
| Gull Rock | 1 | 4 s |

\`\`\`ts
export function period(flashes: number): string {
  // Two flashes and a pause.
  return flashes > 1 ? "10 s" : "4 s";
}
\`\`\`

1. Read the chart.
2. Count.
   - [x] North Head
   - [ ] Gull Rock

> A light that counts tells you who.

<script>document.body.dataset.attacked = "yes"</script> stays text.`;

const tool = (name: string, callId: string, rest: object) => ({ type: `tool-${name}`, toolCallId: callId, ...rest });

const parked: WaitingApproval = {
  callId: "pay",
  executionId: "exec-1",
  toolName: "pay",
  input: { to: "Grace", amount: 400 },
  inputHash: "h"
};

const inline: WaitingApproval = {
  callId: "delete",
  approvalId: "a-1",
  toolName: "delete_file",
  input: { path: "/a.ts" },
  mayHaveRun: true
};

const loading: WaitingApproval = { callId: "load", approvalId: "a-2", toolName: "load_extension", input: {} };

const TOOLS = [
  tool("weather", "w", { state: "output-available", input: { city: "Oslo" }, output: { degrees: 4 } }),
  tool("weather", "p", { state: "input-streaming", input: undefined }),
  tool("count_primes", "c", {
    state: "output-available",
    input: { below: 2000 },
    preliminary: true,
    output: { progress: 0.4 }
  }),
  tool("weather", "e", { state: "output-error", input: { city: "?" }, errorText: "No such city." }),
  tool("write", "d", {
    state: "output-available",
    input: { path: "/add.ts" },
    output: { ok: true, diff: "--- a\n+++ b\n@@ -1 +1 @@\n-a - b\n+a + b" }
  }),
  tool("publish", "r", { state: "output-available", input: {}, output: { status: "rejected" } }),
  tool("execute", "x", {
    state: "output-available",
    input: { code: "const total = await tools.sum([1, 2]);\nconsole.log(total);" },
    output: { status: "completed", executionId: "run-1", logs: ["3"] }
  })
];

const QUESTIONS = [
  tool("pay", "pay", {
    state: "output-available",
    input: parked.input,
    output: { status: "paused", executionId: "exec-1" },
    approvalDescriptor: { summary: "Pay 400 to Grace", risk: "high" }
  }),
  tool("delete_file", "delete", {
    state: "approval-requested",
    input: inline.input,
    approval: { id: "a-1", descriptor: { summary: "Delete /a.ts", risk: "medium" } }
  }),
  tool("load_extension", "load", {
    state: "approval-requested",
    input: { source: "export const tools = {};" },
    approval: { id: "a-2", descriptor: { summary: "Load tides", extension: { tools: ["tides"], permissions: [] } } }
  })
];

const text = (id: string, role: UIMessage["role"], words: string): UIMessage => ({
  id,
  role,
  parts: [{ type: "text", text: words }]
});

export const MESSAGES: readonly UIMessage[] = [
  text("q1", "user", "Which lights are on the way, and what does the code look like?"),
  {
    ...text("a1", "assistant", MARKDOWN),
    metadata: { usage: { inputTokens: 1511, outputTokens: 17 }, cost: { usd: 0.0021 } }
  },
  text("q2", "user", "Use your tools."),
  // The parts come over the wire, with fields the SDK's type does not name.
  { id: "a2", role: "assistant", parts: TOOLS as unknown as UIMessage["parts"] },
  text("q3", "user", "Pay Grace, and delete the file."),
  { id: "a3", role: "assistant", parts: QUESTIONS as unknown as UIMessage["parts"] }
];

const resolved =
  (what: string) =>
  (...details: unknown[]) => {
    record(what, ...details);
    return Promise.resolve();
  };

/** A view of which the rest is fixed: what no part reads is left out. */
export function sampleView(given: Partial<ConversationView>): ConversationView {
  const base: Partial<ConversationView> = {
    messages: MESSAGES,
    status: "settled",
    connection: "open",
    connectionError: undefined,
    error: undefined,
    isBusy: false,
    isRecovering: false,
    silentSince: undefined,
    retry: undefined,
    interruption: undefined,
    agentRuns: [],
    pendingApprovals: [parked, inline, loading],
    versions: { a1: ["a0", "a1"] },
    sent: 0,
    budgets: { questions: [], grant: resolved("grant"), reject: resolved("reject") },
    unsent: [],
    queued: [],
    receipts: [],
    problem: undefined,
    forgetProblem: () => record("forget"),
    attachments: {
      images: [],
      problem: undefined,
      add: () => Promise.resolve(),
      remove: () => undefined,
      clear: () => undefined
    },
    actions: {
      send: (parts) => record("send", parts),
      submit: (parts) => record("submit", parts),
      steer: (parts) => resolved("steer")(parts).then(() => true),
      followUp: (parts) => resolved("follow up")(parts).then(() => true),
      editQueued: (id, parts) => resolved("edit waiting")(id, parts).then(() => true),
      withdraw: (id) => record("withdraw", id),
      stopAfterStep: () => record("stop after step"),
      retry: () => record("retry"),
      stop: () => record("stop"),
      regenerate: (id) => record("regenerate", id),
      edit: (id, parts) => record("edit", id, parts),
      selectVersion: (id) => record("version", id)
    },
    approve: async (asked, change) => {
      record("approve", asked, ...(change === undefined ? [] : [change]));
      return change === undefined ? undefined : { status: "error", error: "Nothing was done: amount: Too small" };
    },
    reject: resolved("reject")
  };
  const client = { retryNow: () => record("retry now"), connect: () => record("connect") };
  return { ...base, client, ...given } as unknown as ConversationView;
}
