// The parts of a chat page. `everthink/react` exports them; `npx everthink add chat` copies this folder into a project.
export { Chat, type ChatProps } from "./chat.tsx";
export { Composer, type ComposerProps } from "./composer/composer.tsx";
export type { AttachedImage } from "./composer/read-image.ts";
export type { Attachments } from "./composer/use-attachments.ts";
export { useDrop } from "./composer/use-drop.ts";
export { ChatRoot, type ChatRootProps } from "./conversation/chat-root.tsx";
export { useChatRoot, type ProgramCall } from "./conversation/context.ts";
export { Conversation, type ConversationProps } from "./conversation/conversation.tsx";
export type { Acting, ConversationActions, UnsentMessage } from "./conversation/use-actions.ts";
export type { Budgets } from "./conversation/use-budgets.ts";
export { useConversation, type ConversationView } from "./conversation/use-conversation.ts";
export type { Interruption } from "./conversation/use-interruption.ts";
export { useStickToEnd, type StickToEnd } from "./conversation/use-stick-to-end.ts";
export type { Versions } from "./conversation/use-versions.ts";
export { ConversationList, type ConversationListProps } from "./list/conversation-list.tsx";
export { dayLabel, type ConversationEntry } from "./list/day-groups.ts";
export { Markdown, type MarkdownProps } from "./markdown/markdown.tsx";
export { MessageParts, type MessagePartsProps } from "./message/assistant-message.tsx";
export type { MessageActions } from "./message/message-actions.ts";
export { Message, type MessageProps } from "./message/message.tsx";
export { messageText } from "./message/message-text.ts";
export { ConnectionBanner, type ConnectionBannerProps } from "./page/connection-banner.tsx";
export { IconButton, type IconButtonProps } from "./page/icon-button.tsx";
export { Icon, type IconName } from "./page/icons.tsx";
export { Notice, type NoticeProps } from "./page/notice.tsx";
export { StatusPill } from "./page/status-pill.tsx";
export { useSetting } from "./page/stored-setting.ts";
export { applyStoredTheme, shownTheme, type Theme } from "./page/theme.ts";
export { ThemeButton } from "./page/theme-button.tsx";
export { Welcome, type Suggestion, type WelcomeProps } from "./page/welcome.tsx";
export { ApprovalCard } from "./tool/approval-card.tsx";
export { BudgetCard, type BudgetCardProps } from "./tool/budget-card.tsx";
export type { BudgetQuestion } from "./tool/budget-question.ts";
export { DiffView } from "./tool/diff-view.tsx";
export { runName, runWord } from "./tool/runs.ts";
export { ToolCard } from "./tool/tool-card.tsx";
export {
  getToolApproval,
  getToolInput,
  getToolName,
  getToolOutput,
  getToolState,
  describeToolAnnotations,
  isToolPart,
  type ToolApproval,
  type ToolCallState,
  type ToolPart
} from "./tool/tool-part.ts";
