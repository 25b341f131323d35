// A whole chat, made of the parts: what most pages need. A page that needs another arrangement takes the parts.
import type { ReactNode } from "react";
import { Composer, type ComposerProps } from "./composer/composer.tsx";
import { ChatRoot } from "./conversation/chat-root.tsx";
import { Conversation, type ConversationProps } from "./conversation/conversation.tsx";
import { useConversation, type ConversationView } from "./conversation/use-conversation.ts";
import { ConnectionBanner } from "./page/connection-banner.tsx";
import { StatusPill } from "./page/status-pill.tsx";
import { ThemeButton } from "./page/theme-button.tsx";
import { Welcome, type Suggestion } from "./page/welcome.tsx";
import type { ThinkClientOptions } from "./think.ts";

export type ChatProps = ThinkClientOptions &
  ComposerProps &
  Pick<ConversationProps, "showUsage"> & {
    /** Above the conversation. */
    readonly title: string;
    /** What an empty conversation says. */
    readonly greeting?: string;
    /** Things to try in an empty conversation. */
    readonly suggestions?: readonly Suggestion[];
    /** Controls of the page, at the end of the header. */
    readonly controls?: ReactNode;
    /** Between header and conversation, such as a `Notice`. A function is given the conversation. */
    readonly notice?: ReactNode | ((conversation: ConversationView) => ReactNode);
  };

/**
 * A chat with an agent: header, conversation and composer, in the height that its place on the page has.
 *
 * @example
 * import { Chat } from "everthink/react";
 * import "everthink/react/styles.css";
 *
 * createRoot(root).render(<Chat agent="assistant" name="ada" title="Assistant" suggestions={["What can you do?"]} />);
 */
export function Chat(props: ChatProps) {
  const { title, greeting = "Ask something.", suggestions, controls, notice, showUsage = false, ...rest } = props;
  const conversation = useConversation(rest);
  return (
    <ChatRoot conversation={conversation}>
      <header className="think-part think-header">
        <div className="think-header-title">
          <h1>{title}</h1>
          <StatusPill />
        </div>
        {controls}
        <ThemeButton />
      </header>
      {typeof notice === "function" ? notice(conversation) : notice}
      <ConnectionBanner />
      <Conversation
        showUsage={showUsage}
        empty={<Welcome title={greeting} {...(suggestions !== undefined && { suggestions })} />}
      />
      <Composer {...rest} />
    </ChatRoot>
  );
}
