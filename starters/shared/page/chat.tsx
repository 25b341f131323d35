import { getToolName, isToolUIPart, type UIMessage } from "ai";
import { describeRetry, type WaitingApproval } from "everthink/client";
import { useThink } from "everthink/react";
import { useEffect, useRef } from "react";

interface ChatProps {
  name: string;
  greeting: string;
  suggestions: readonly string[];
}

export function Chat({ name, greeting, suggestions }: ChatProps) {
  const {
    messages,
    status,
    error,
    connectionError,
    silentSince,
    retry,
    pendingApprovals,
    send,
    stop,
    approve,
    reject
  } = useThink({
    agent: "assistant",
    name
  });
  const end = useRef<HTMLDivElement>(null);
  // With braces: React would call what scrollIntoView returns, in newer browsers a Promise, when the effect ends.
  useEffect(() => {
    end.current?.scrollIntoView({ block: "end" });
  }, [messages, pendingApprovals]);
  const isBusy = status === "running" || status === "queued" || status === "recovering";
  return (
    <main>
      <section aria-live="polite" aria-label="Conversation">
        {messages.length === 0 && (
          <header>
            <h1>{greeting}</h1>
            {suggestions.map((text) => (
              <button key={text} className="suggestion" onClick={() => void send(text)}>
                {text}
              </button>
            ))}
          </header>
        )}
        {messages.map((message) => (
          <Message key={message.id} message={message} />
        ))}
        {pendingApprovals.map((asked) => (
          <Approval key={asked.callId} asked={asked} approve={approve} reject={reject} />
        ))}
        {retry ? (
          <p className="note" role="status">
            {describeRetry(retry)}
          </p>
        ) : (
          status === "recovering" && <p className="note">Interrupted; it goes on in a moment.</p>
        )}
        {silentSince !== undefined && <Silence since={silentSince} stop={stop} />}
        <p role="alert">{connectionError ?? error}</p>
        <div ref={end} />
      </section>
      <form action={(form) => void send(String(form.get("text")))}>
        <input name="text" aria-label="Message" placeholder="Message" autoComplete="off" required />
        {isBusy ? (
          <button type="button" onClick={() => void stop()}>
            Stop
          </button>
        ) : (
          <button>Send</button>
        )}
      </form>
    </main>
  );
}

interface SilenceProps {
  since: number;
  stop: () => Promise<unknown>;
}

/** No error: reasoning models may be silent for minutes. */
export function Silence({ since, stop }: SilenceProps) {
  return (
    <p className="note" role="status">
      The model has said nothing since {new Date(since).toLocaleTimeString()}. It may be thinking.{" "}
      <button type="button" onClick={() => void stop()}>
        Stop
      </button>
    </p>
  );
}

interface ApprovalProps {
  asked: WaitingApproval;
  approve: (asked: WaitingApproval) => Promise<unknown>;
  reject: (asked: WaitingApproval) => Promise<unknown>;
}

/** A decision is sent with the question that is shown, so that it decides no other. */
export function Approval({ asked, approve, reject }: ApprovalProps) {
  // Of code that waits: the call inside of it, which is what the decision is about.
  const { action = asked.toolName, input = asked.input } = (asked.descriptor ?? {}) as {
    action?: string;
    input?: unknown;
  };
  return (
    <div className="card" role="group" aria-label="Approval">
      <b>{action}</b> <code>{JSON.stringify(input)}</code>
      {asked.mayHaveRun && (
        <p className="note">This call was begun before and may have run. Approve it only if it did not.</p>
      )}
      <p>
        <button onClick={() => void approve(asked)}>Approve</button>
        <button onClick={() => void reject(asked)}>Reject</button>
      </p>
    </div>
  );
}

function Message({ message }: { message: UIMessage }) {
  return (
    <article className={message.role}>
      {message.parts.map((part, index) => {
        if (part.type === "text") return <p key={index}>{part.text}</p>;
        if (!isToolUIPart(part)) return null;
        return (
          <details key={index} className="card">
            <summary>
              {getToolName(part)} <small>{part.state.replace("-", " ")}</small>
            </summary>
            <code>{JSON.stringify(part.input)}</code>
            {part.state === "output-available" && <code>{JSON.stringify(part.output)}</code>}
            {part.state === "output-error" && <code>{part.errorText}</code>}
          </details>
        );
      })}
    </article>
  );
}
