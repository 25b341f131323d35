// The conversation as it is shown: messages, the answer being written, what went wrong, and the way back to the end.
import { useEffect, useMemo, type ReactNode } from "react";
import type { UIMessage } from "ai";
import { Message } from "../message/message.tsx";
import { Icon } from "../page/icons.tsx";
import { receiptsByMessage } from "../composer/receipt-words.ts";
import { BudgetCard } from "../tool/budget-card.tsx";
import { useChatRoot } from "./context.ts";
import { RecoveringLine, RetryLine, SilenceLine, ThinkingLine } from "./lines.tsx";
import { TurnError } from "./turn-error.tsx";
import type { ConversationView } from "./use-conversation.ts";
import { useLiveAnswer } from "./use-live-answer.ts";
import { useStickToEnd } from "./use-stick-to-end.ts";

export interface ConversationProps {
  /** Shown as long as there is no message, once there is a connection. */
  readonly empty?: ReactNode;
  /** Says below each answer which tokens and how much money it took: of classes with `sendUsage = true`, and with budgets. */
  readonly showUsage?: boolean;
}

/**
 * The messages of the conversation. A reader at the end follows the answer; one who scrolled up is left alone.
 *
 * @example
 * <Conversation empty={<Welcome title="What shall I write?" suggestions={["A function that adds."]} />} />
 */
export function Conversation({ empty, showUsage = false }: ConversationProps) {
  const conversation = useChatRoot();
  const { messages, status, connection, error, isBusy, versions, actions, sent, receipts, budgets } = conversation;
  const words = useMemo(() => receiptsByMessage(receipts), [receipts]);
  const { scrollerRef, contentRef, isAtEnd, jumpToEnd } = useStickToEnd(messages.length > 0);
  const live = useLiveAnswer(messages, status);
  useEffect(() => {
    if (sent > 0) jumpToEnd();
  }, [sent, jumpToEnd]);
  const line = <AnswerLine {...conversation} />;
  const hasLine = lineOf(conversation) !== undefined;
  const show = (message: UIMessage, index: number): ReactNode => {
    const isLive = message.id === live.messageId;
    return (
      <Message
        key={message.id}
        message={message}
        versions={versions[message.id]}
        isConversationBusy={isBusy}
        isWaiting={live.waiting.has(message.id) && !words.has(message.id)}
        receipt={words.get(message.id)}
        showUsage={showUsage}
        isLive={isLive}
        isLast={index === messages.length - 1}
        actions={actions}
      >
        {isLive && hasLine && line}
      </Message>
    );
  };
  return (
    <div className="think-part think-log-frame">
      <div
        className="think-log-scroller"
        role="log"
        aria-label="Conversation"
        aria-live="off"
        tabIndex={0}
        ref={scrollerRef}
      >
        <div className="think-log" ref={contentRef}>
          {messages.length === 0 ? connection === "open" && empty : messages.map(show)}
          {isBusy &&
            live.messageId === undefined &&
            (hasLine ? line : <ThinkingLine isOffline={connection !== "open"} />)}
          {budgets.questions.map((question) => (
            <BudgetCard key={question.executionId} question={question} grant={budgets.grant} reject={budgets.reject} />
          ))}
          {error !== undefined && !isBusy && status !== "parked" && <TurnError error={error} onRetry={actions.retry} />}
        </div>
      </div>
      {!isAtEnd && messages.length > 0 && (
        <button
          type="button"
          className="think-jump-button"
          aria-label="Jump to latest"
          title="Jump to latest"
          onClick={() => jumpToEnd("smooth")}
        >
          <Icon name="down" />
        </button>
      )}
    </div>
  );
}

function lineOf({
  retry,
  interruption,
  silentSince
}: Pick<ConversationView, "retry" | "interruption" | "silentSince">) {
  if (retry !== undefined) return "retry";
  if (interruption !== undefined) return "interruption";
  return silentSince === undefined ? undefined : "silence";
}

function AnswerLine({ retry, interruption, silentSince, actions }: ConversationView) {
  if (retry !== undefined) return <RetryLine retry={retry} onStop={actions.stop} />;
  if (interruption !== undefined) return <RecoveringLine {...interruption} />;
  return silentSince === undefined ? null : <SilenceLine since={silentSince} onStop={actions.stop} />;
}
