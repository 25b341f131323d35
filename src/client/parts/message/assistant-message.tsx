// An answer: text, thoughts, tools and sources in the order they came, and what can be done with it once it is there.
import type { ReactNode } from "react";
import type { UIMessage } from "ai";
import { Markdown } from "../markdown/markdown.tsx";
import { safeLink } from "../markdown/safe-link.ts";
import { CopyButton } from "../page/copy-button.tsx";
import { IconButton } from "../page/icon-button.tsx";
import { ToolCard } from "../tool/tool-card.tsx";
import { isToolPart } from "../tool/tool-part.ts";
import { messageText } from "./message-text.ts";
import type { MessageProps } from "./message.tsx";
import { Picture } from "./picture.tsx";
import { Reasoning } from "./reasoning.tsx";
import { usageText } from "./usage-text.ts";
import { VersionPicker } from "./version-picker.tsx";

export function AssistantMessage(props: MessageProps) {
  const { message, isLive = false, isLast = false, children } = props;
  return (
    <article
      className="think-part think-message think-assistant-message"
      aria-label="Assistant said"
      aria-busy={isLive || undefined}
      data-message-id={message.id}
      data-role="assistant"
      data-last={isLast || undefined}
    >
      <MessageParts message={message} isGrowing={isLive} />
      {children}
      {!isLive && <AnswerTools {...props} />}
    </article>
  );
}

function AnswerTools({ message, versions, isConversationBusy = false, showUsage = false, actions }: MessageProps) {
  const text = messageText(message);
  const usage = showUsage ? usageText(message) : undefined;
  if (actions === undefined) return null;
  return (
    <div className="think-message-tools">
      {versions !== undefined && (
        <VersionPicker
          messageId={message.id}
          versions={versions}
          isDisabled={isConversationBusy}
          onSelect={actions.selectVersion}
        />
      )}
      {text !== "" && <CopyButton text={text} label="Copy answer" className="think-on-demand" />}
      <IconButton
        icon="again"
        size={16}
        className="think-on-demand"
        label="Regenerate answer"
        disabled={isConversationBusy}
        onClick={() => actions.regenerate(message.id)}
      />
      {usage !== undefined && <span className="think-usage">{usage}</span>}
    </div>
  );
}

export interface MessagePartsProps {
  readonly message: UIMessage;
  /** Its last part is being written. */
  readonly isGrowing?: boolean;
}

/**
 * What a message says, without a frame: text, reasoning, tools, pictures and sources, in their order.
 *
 * @example
 * <MessageParts message={message} />
 */
export function MessageParts({ message, isGrowing = false }: MessagePartsProps): ReactNode {
  const last = message.parts.length - 1;
  return message.parts.map((part, index) => <Part key={index} part={part} isGrowing={isGrowing && index === last} />);
}

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
    <a className="think-source" href={href} target="_blank" rel="noopener noreferrer">
      {title}
    </a>
  );
}
