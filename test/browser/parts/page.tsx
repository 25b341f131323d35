// The gallery of the parts: one of them at a time, named by the query.
import { useState, type ReactNode } from "react";
import { createRoot } from "react-dom/client";
import {
  applyStoredTheme,
  ChatRoot,
  Composer,
  ConnectionBanner,
  Conversation,
  ConversationList,
  Notice,
  StatusPill,
  ThemeButton,
  Welcome,
  type BudgetQuestion,
  type ConversationView
} from "../../../src/client/react.ts";
import type { ClientReceipt } from "../../../src/client/index.ts";
import { budgetQuestions } from "../../../src/client/parts/tool/budget-question.ts";
import { MESSAGES, record, sampleView } from "./sample.ts";

const HOUR_MS = 3_600_000;

function Frame({ view, children }: { view: Partial<ConversationView>; children: ReactNode }) {
  return (
    <ChatRoot conversation={sampleView(view)} callsOfProgram={callsOfProgram}>
      <header className="think-part think-header">
        <div className="think-header-title">
          <h1>Parts</h1>
          <StatusPill />
        </div>
        <ThemeButton />
      </header>
      {children}
    </ChatRoot>
  );
}

const CALLS = [
  { name: "tools.sum", state: "applied" },
  { name: "tools.pay", state: "pending" }
];
const callsOfProgram = () => Promise.resolve(CALLS);

const only = (...ids: string[]) => MESSAGES.filter(({ id }) => ids.includes(id));

const [QUESTION] = budgetQuestions([
  {
    ...{ executionId: "budget_1", source: "budget", inputHash: "h" },
    descriptor: {
      summary: "needs $0.40 more; spent $2.10 of $2.50 by ann today",
      input: { unit: "usd", amount: 0.3971, account: "key:ann" }
    }
  }
]) as [BudgetQuestion];

const LONG =
  "Only the lights that can be seen from the ferry, by night and in rain, and none that were switched off since 2019.";

const waitingMessage = (id: string, kind: ClientReceipt["kind"], text: string): ClientReceipt => ({
  id,
  kind,
  state: kind === "steer" ? "accepted" : "queued",
  at: 0,
  messageIds: [`m-${id}`],
  messages: [{ id: `m-${id}`, role: "user", parts: [{ type: "text", text }] }]
});

/** Four messages wait. "Next step" lets the first steer take effect, and the edit of the last one comes too late. */
function Steering() {
  const [queued, setQueued] = useState([
    waitingMessage("s1", "steer", "Only the western ones."),
    waitingMessage("s2", "steer", LONG),
    waitingMessage("f1", "follow-up", "And the fog signals?"),
    waitingMessage("f2", "follow-up", "In feet, please.")
  ]);
  const [receipts, setReceipts] = useState<readonly ClientReceipt[]>([]);
  const ends = (id: string, end: Partial<ClientReceipt>) => {
    const receipt = queued.find((one) => one.id === id);
    setQueued(queued.filter((one) => one.id !== id));
    if (receipt) setReceipts([...receipts, { ...receipt, ...end }]);
  };
  const { actions } = sampleView({});
  const view: Partial<ConversationView> = {
    messages: [
      ...only("q1"),
      { id: "a9", role: "assistant", parts: [{ type: "text", text: "Two **lights" }] },
      ...receipts.flatMap((receipt) => receipt.messages ?? [])
    ],
    status: "running",
    isBusy: true,
    queued,
    receipts,
    unsent: [{ id: "u1", kind: "follow-up", parts: [{ type: "text", text: "Thank you." }] }],
    actions: {
      ...actions,
      withdraw: (id) => {
        actions.withdraw(id);
        ends(id, { state: "withdrawn" });
      },
      editQueued: async (id, parts) => {
        await actions.editQueued(id, parts);
        return id !== "f2";
      }
    }
  };
  return (
    <Frame view={view}>
      <button onClick={() => ends("s1", { state: "applied", step: 3 })}>Next step</button>
      <button onClick={() => ends("f1", { state: "started" })}>Next turn</button>
      <Conversation />
      <Composer canSubmit />
    </Frame>
  );
}

const PARTS: Readonly<Record<string, () => ReactNode>> = {
  markdown: () => (
    <Frame view={{ messages: only("q1", "a1") }}>
      <Conversation showUsage />
      <Composer />
    </Frame>
  ),
  unasked: () => (
    <Frame view={{ messages: only("q1", "a1") }}>
      <Conversation />
    </Frame>
  ),
  tools: () => (
    <Frame view={{ messages: only("q2", "a2") }}>
      <Conversation />
      <Composer />
    </Frame>
  ),
  approvals: () => (
    <Frame view={{ messages: only("q3", "a3"), status: "parked" }}>
      <Conversation />
      <Composer canSubmit />
    </Frame>
  ),
  welcome: () => (
    <Frame view={{ messages: [], status: "idle" }}>
      <Notice kind="problem">No key for a model is set: the offline model answers.</Notice>
      <Conversation
        empty={
          <Welcome title="How can we help?" suggestions={["Where is order 1002?", "I want to talk to a person."]}>
            It remembers what you say.
          </Welcome>
        }
      />
      <Composer placeholder="Ask about your order" />
    </Frame>
  ),
  busy: () => (
    <Frame
      view={{
        messages: [...only("q1"), { id: "a9", role: "assistant", parts: [{ type: "text", text: "Two **lights" }] }],
        status: "running",
        isBusy: true,
        retry: { reason: "rate-limit", at: Date.now() + 20_000, attempt: 2, of: 5 }
      }}
    >
      <Conversation />
      <Composer />
    </Frame>
  ),
  budget: () => (
    <Frame
      view={{
        messages: [...only("q1"), { id: "a9", role: "assistant", parts: [{ type: "text", text: "Let me look." }] }],
        budgets: { ...sampleView({}).budgets, questions: [QUESTION] }
      }}
    >
      <Conversation />
      <Composer />
    </Frame>
  ),
  steering: () => <Steering />,
  silent: () => (
    <Frame view={{ messages: only("q1"), status: "running", isBusy: true, silentSince: Date.UTC(2026, 10, 1, 12, 34) }}>
      <Conversation />
      <Composer />
    </Frame>
  ),
  trouble: () => (
    <Frame
      view={{
        messages: only("q1"),
        connection: "refused",
        connectionError: "The server refused the connection: 404 Not found",
        error: "The provider refused the key (401).",
        problem: "The agent takes no more than 100 questions at a time."
      }}
    >
      <ConnectionBanner onRetry={() => record("retry the page")} />
      <Conversation />
      <Composer />
    </Frame>
  ),
  offline: () => (
    <Frame view={{ messages: only("q1"), status: "running", isBusy: true, connection: "reconnecting" }}>
      <Conversation />
      <Composer />
    </Frame>
  ),
  list: () => (
    <nav className="gallery-list" aria-label="Conversations">
      <ConversationList
        conversations={[
          "Lights of the coast",
          "Pay Grace",
          "A title that is far too long for the column it stands in"
        ].map((title, index) => ({ id: `c${index}`, title, updatedAt: Date.now() - index * 20 * HOUR_MS }))}
        currentId="c0"
        hrefOf={(id) => `#${id}`}
        onOpen={(id) => record("open", id)}
        onRename={(id, title) => record("rename", id, title)}
        onDelete={(id) => record("delete", id)}
      />
    </nav>
  )
};

applyStoredTheme();
const name = new URLSearchParams(location.search).get("part") ?? "";
const part = PARTS[name];
const root = document.getElementById("root");
if (root && part) createRoot(root).render(part());
