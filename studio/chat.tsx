// The conversation with a field to take part in it as the developer: what is written appears while it is written, calls that
// need an approval can be decided in place, and what waits for its turn can be taken back.
import { useEffect, useRef, useState, type KeyboardEvent } from "react";
import type { ChatView, InboxView, ShownMessage, ShownPart, ShownReceipt } from "../src/features/inspection/index.ts";
import { callState, clock, printable } from "./format.ts";
import { InboxCard } from "./inbox-card.tsx";
import { Badge, Empty, Loading, Text, useView } from "./parts.tsx";
import type { ViewSource } from "./source.ts";

const RUNNING_POLL_MS = 250;
const IDLE_POLL_MS = 2_000;
const NEAR_END_PX = 120;

interface ChatProps {
  readonly source: ViewSource;
  readonly canWrite: boolean;
  /** Changes when a turn has. */
  readonly version: unknown;
  readonly onTurn: (turnId: string) => void;
}

export function Chat({ source, canWrite, version, onTurn }: ChatProps) {
  const [looks, setLooks] = useState(0);
  const [decisions, setDecisions] = useState(0);
  const { value: chat, error } = useView<ChatView>(source, source.isFile ? undefined : "chat", `${version} ${looks}`);
  const { value: inbox } = useView<InboxView>(
    source,
    source.isFile ? undefined : "inbox",
    `${version} ${decisions} ${chat?.openTurns}`
  );
  const look = () => setLooks((count) => count + 1);
  const decided = () => {
    setDecisions((count) => count + 1);
    look();
  };
  const isBusy = chat !== undefined && chat.openTurns > 0;
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && look(), isBusy ? RUNNING_POLL_MS : IDLE_POLL_MS);
    return () => clearInterval(timer);
  }, [isBusy]);
  const messages = useRef<HTMLElement>(null);
  const last = chat?.running?.answer ?? chat?.messages.at(-1);
  const size = `${last?.id} ${last?.parts.reduce((chars, { text }) => chars + text.chars, 0)} ${chat?.waiting.length}`;
  const seen = useRef(0);
  useEffect(() => {
    const page = messages.current?.closest(".content");
    if (!page) return;
    // Who reads further up stays there.
    const isAtEnd = page.scrollTop + page.clientHeight >= seen.current - NEAR_END_PX;
    seen.current = page.scrollHeight;
    if (isAtEnd) page.scrollTop = page.scrollHeight;
  }, [size, inbox]);
  if (source.isFile) return <Empty title="No chat with a file">An export shows what was said in its timeline.</Empty>;
  if (!chat) return error === undefined ? <Loading what="the conversation" /> : <Empty title="No chat">{error}</Empty>;
  const refusal = canWrite ? chat.refusal : "Read-only: start Studio with --write to take part.";
  const asked = inbox?.approvals.filter(({ isDecidable }) => isDecidable) ?? [];
  return (
    <div className="content chat">
      <section ref={messages} className="chat-messages" aria-label="Conversation">
        {chat.isCut && <p className="faint">Older messages are in the timeline.</p>}
        {chat.messages.length === 0 && !chat.running && <Empty title="Nothing was said yet" />}
        {chat.messages.map((message) => (
          <Message key={message.id} message={message} />
        ))}
        {chat.running && (
          <>
            {chat.running.answer && <Message message={chat.running.answer} />}
            <p className="chat-running" role="status">
              <span className="live">answers</span>{" "}
              <button className="link" onClick={() => onTurn(chat.running?.turnId ?? "")}>
                Its timeline
              </button>
            </p>
          </>
        )}
        {asked.map((entry) => (
          <InboxCard
            key={`${entry.id} ${entry.inputHash}`}
            {...{ entry, source, canWrite, by: "", onDecided: decided, onRefused: decided }}
          />
        ))}
      </section>
      <Composer {...{ source, chat, refusal, onChanged: look }} />
    </div>
  );
}

const ROLES: Readonly<Record<string, string>> = { user: "You", assistant: "Agent" };

function Message({ message: { role, parts } }: { message: ShownMessage }) {
  return (
    <article className={`message said-${role === "user" ? "user" : "agent"}`}>
      <h3>{ROLES[role] ?? printable(role)}</h3>
      {parts.map((part, index) => (
        <Part key={index} part={part} />
      ))}
    </article>
  );
}

function Part({ part }: { part: ShownPart }) {
  if (part.type === "text") return <Text isProse value={part.text} />;
  const title = part.type === "tool" ? (part.toolName ?? "tool") : part.type;
  return (
    <details className="section">
      <summary>
        <i className="chevron" />
        <b className="mono">{printable(title)}</b>
        {part.state !== undefined && <Badge kind={STATES[part.state] ?? "running"}>{callState(part.state)}</Badge>}
      </summary>
      <Text value={part.text} />
    </details>
  );
}

/** As calls are coloured elsewhere. */
const STATES: Readonly<Record<string, string>> = {
  "output-available": "completed",
  "output-error": "failed",
  "output-denied": "failed",
  "approval-requested": "waiting"
};

interface ComposerProps {
  readonly source: ViewSource;
  readonly chat: ChatView;
  /** Why nothing may be asked. */
  readonly refusal: string | null;
  readonly onChanged: () => void;
}

/** Resolves with what was answered; with nothing when it was refused, which `error` says. */
function useSending(source: ViewSource, onChanged: () => void) {
  const [error, setError] = useState<string>();
  const send = (path: string, body: object) =>
    source.post<ShownReceipt>(path, body).then(
      (receipt) => {
        setError(undefined);
        onChanged();
        return receipt;
      },
      (failure: Error) => {
        setError(failure.message);
        return undefined;
      }
    );
  return { error, send };
}

/** Enter asks, or steers what runs; Alt+Enter follows up. */
function Composer({ source, chat, refusal, onChanged }: ComposerProps) {
  const [text, setText] = useState("");
  const { error, send } = useSending(source, onChanged);
  const [receipts, setReceipts] = useState<readonly ShownReceipt[]>([]);
  const isBusy = chat.running !== null;
  const ask = (kind: "steer" | "follow-up") => {
    const words = text;
    if (words.trim() === "" || refusal !== null) return;
    setText("");
    void send("ask", { text: words, kind, id: crypto.randomUUID() }).then((receipt) => {
      if (receipt) setReceipts((known) => [...known, receipt].slice(-1));
      // What could not be sent is not lost.
      else setText((now) => (now === "" ? words : now));
    });
  };
  const press = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    ask(event.altKey ? "follow-up" : "steer");
  };
  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        ask("steer");
      }}
    >
      {chat.waiting.map((receipt) => (
        <Chip
          key={receipt.id}
          receipt={receipt}
          isDisabled={refusal !== null}
          onWithdraw={() => void send("withdraw", { id: receipt.id })}
        />
      ))}
      {error && (
        <p className="error" role="alert">
          {error}
        </p>
      )}
      <p className="only-heard" role="status">
        {receipts.map(({ kind, state, at }) => `${kind} ${state} at ${clock(at)}`).join("")}
      </p>
      <textarea
        aria-label="Message to the agent"
        placeholder={refusal ?? (isBusy ? "Steer what runs; Alt+Enter for afterwards" : "Ask as the developer")}
        rows={2}
        value={text}
        disabled={refusal !== null}
        onChange={({ target }) => setText(target.value)}
        onKeyDown={press}
      />
      {refusal === null ? (
        <p className="actions">
          <button className="primary" disabled={text.trim() === ""}>
            {isBusy ? "Steer" : "Ask"}
          </button>
          {isBusy && (
            <>
              <button type="button" disabled={text.trim() === ""} onClick={() => ask("follow-up")}>
                Follow up
              </button>
              <Stops onStop={(how) => void send("stop", how)} />
            </>
          )}
        </p>
      ) : (
        <p className="faint">{refusal}</p>
      )}
    </form>
  );
}

/** A message that was accepted and has not taken effect. */
function Chip({
  receipt: { kind, place, text },
  isDisabled,
  onWithdraw
}: {
  receipt: ShownReceipt;
  isDisabled: boolean;
  onWithdraw: () => void;
}) {
  return (
    <p className="chip">
      <Badge kind="queued">{kind === "steer" ? "at the next step" : `then, as ${place}`}</Badge>
      <span className="preview">{printable(text?.text ?? "")}</span>
      <button type="button" disabled={isDisabled} onClick={onWithdraw}>
        Take back
      </button>
    </p>
  );
}

function Stops({ onStop }: { onStop: (how: { readonly after?: "step" }) => void }) {
  return (
    <>
      <button type="button" onClick={() => onStop({ after: "step" })}>
        Stop after this step
      </button>
      <button type="button" className="danger" onClick={() => onStop({})}>
        Stop
      </button>
    </>
  );
}
