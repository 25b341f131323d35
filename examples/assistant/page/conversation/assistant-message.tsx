// An answer: text, thoughts, tools and sources in the order they came, and what can be done with it once it is there.
import { memo, type ReactNode } from "react";
import type { UIMessage } from "ai";
import { IconButton } from "../icon-button.tsx";
import { Markdown } from "../markdown/markdown.tsx";
import { safeLink } from "../markdown/safe-link.ts";
import { Picture } from "../parts/picture.tsx";
import { Reasoning } from "../parts/reasoning.tsx";
import { ToolCard } from "../parts/tool-card.tsx";
import { isToolPart } from "../parts/tool-part.ts";
import type { MessageActions } from "./message-actions.ts";
import { VersionPicker } from "./version-picker.tsx";

interface AssistantMessageProps {
  message: UIMessage;
  versions: readonly string[] | undefined;
  isLive: boolean;
  isLast: boolean;
  isConversationBusy: boolean;
  actions: MessageActions;
  /** The line that says what is happening to this answer. */
  children?: ReactNode;
}

export const AssistantMessage = memo(function AssistantMessage(props: AssistantMessageProps) {
  const { message, versions, isLive, isLast, isConversationBusy, actions, children } = props;
  const lastPart = message.parts.length - 1;
  return (
    <article
      className="message assistant-message"
      aria-label="Assistant said"
      aria-busy={isLive || undefined}
      data-message-id={message.id}
      data-role="assistant"
      data-last={isLast || undefined}
    >
      {message.parts.map((part, index) => (
        <Part key={index} part={part} isGrowing={isLive && index === lastPart} />
      ))}
      {children}
      {!isLive && (
        <div className="message-tools">
          {versions !== undefined && (
            <VersionPicker
              messageId={message.id}
              versions={versions}
              isDisabled={isConversationBusy}
              onSelect={actions.selectVersion}
            />
          )}
          <IconButton
            icon="again"
            size={16}
            className="on-demand"
            label="Regenerate answer"
            disabled={isConversationBusy}
            onClick={() => actions.regenerate(message.id)}
          />
        </div>
      )}
    </article>
  );
});

function Part({ part, isGrowing }: { part: UIMessage["parts"][number]; isGrowing: boolean }): ReactNode {
  if (isToolPart(part)) return <ToolCard part={part} />;
  switch (part.type) {
    case "text":
      return <Markdown text={part.text} isGrowing={isGrowing} />;
    case "reasoning":
      return <Reasoning text={part.text} isGrowing={isGrowing} />;
    case "file":
      return <Picture {...part} />;
    case "source-url":
      return <Source url={part.url} {...(part.title !== undefined && { title: part.title })} />;
    default:
      return null;
  }
}

function Source({ url, title = url }: { url: string; title?: string }) {
  const href = safeLink(url);
  if (href === undefined) return null;
  return (
    <a className="source" href={href} target="_blank" rel="noopener noreferrer">
      {title}
    </a>
  );
}
