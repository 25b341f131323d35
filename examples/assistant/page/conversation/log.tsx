// The conversation as it is shown: messages, the answer being written, what went wrong, and the way back to the end.
import type { ReactNode } from "react";
import type { UIMessage } from "ai";
import type { AwaitedRetry, ConnectionState, Status } from "everthink/client";
import { Icon } from "../icons.tsx";
import { AssistantMessage } from "./assistant-message.tsx";
import type { MessageActions } from "./message-actions.ts";
import { RecoveringLine } from "./recovering-line.tsx";
import { RetryLine } from "./retry-line.tsx";
import { SilenceLine } from "./silence-line.tsx";
import { TurnError } from "./turn-error.tsx";
import type { Interruption } from "./use-interruption.ts";
import { isBusy, useLiveAnswer } from "./use-live-answer.ts";
import type { StickToEnd } from "./use-stick-to-end.ts";
import { UserMessage } from "./user-message.tsx";
import type { Versions } from "./use-versions.ts";

interface LogProps {
  messages: readonly UIMessage[];
  status: Status;
  connection: ConnectionState;
  interruption: Interruption | undefined;
  /** The model has said nothing since then. */
  silentSince: number | undefined;
  /** The model failed, and is asked again. */
  retry: AwaitedRetry | undefined;
  error: string | undefined;
  versions: Versions;
  actions: MessageActions;
  stick: StickToEnd;
  onStop(): void;
  onRetry(): void;
  /** Shown as long as there is no message. */
  empty: ReactNode;
}

export function Log(props: LogProps) {
  const { messages, status, connection, interruption, silentSince, retry } = props;
  const { error, versions, actions, stick, onStop, onRetry, empty } = props;
  const live = useLiveAnswer(messages, status);
  const busy = isBusy(status);
  const silence = silentSince !== undefined && <SilenceLine since={silentSince} onStop={onStop} />;
  const interrupted = interruption && <RecoveringLine {...interruption} />;
  const line = retry ? <RetryLine retry={retry} onStop={onStop} /> : (interrupted ?? (silence || undefined));
  const show = (message: UIMessage, index: number): ReactNode => {
    const shared = { message, versions: versions[message.id], isConversationBusy: busy, actions };
    if (message.role === "user")
      return <UserMessage key={message.id} {...shared} isWaiting={live.waiting.has(message.id)} />;
    if (message.role !== "assistant") return null;
    const isLive = message.id === live.messageId;
    return (
      <AssistantMessage key={message.id} {...shared} isLive={isLive} isLast={index === messages.length - 1}>
        {isLive && line}
      </AssistantMessage>
    );
  };
  return (
    <div className="log-frame">
      <div
        className="log-scroller"
        role="log"
        aria-label="Conversation"
        aria-live="off"
        tabIndex={0}
        ref={stick.scrollerRef}
      >
        <div className="log" ref={stick.contentRef}>
          {messages.length === 0 ? empty : messages.map(show)}
          {busy && live.messageId === undefined && (line ?? <Thinking isOffline={connection !== "open"} />)}
          {error !== undefined && !busy && status !== "parked" && <TurnError error={error} onRetry={onRetry} />}
        </div>
      </div>
      {!stick.isAtEnd && messages.length > 0 && (
        <button
          type="button"
          className="jump-button"
          aria-label="Jump to latest"
          title="Jump to latest"
          onClick={() => stick.jumpToEnd("smooth")}
        >
          <Icon name="down" />
        </button>
      )}
    </div>
  );
}

function Thinking({ isOffline }: { isOffline: boolean }) {
  return (
    <p className="thinking">
      <span className="lamp" aria-hidden="true" />
      {isOffline ? "Kept here; sent as soon as there is a connection" : "Thinking"}
    </p>
  );
}
