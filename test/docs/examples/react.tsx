// The examples of docs/react.md.
import type { ReactNode } from "react";
import {
  ChatRoot,
  Composer,
  ConnectionBanner,
  Conversation,
  getToolApproval,
  getToolInput,
  getToolName,
  getToolOutput,
  getToolState,
  StatusPill,
  ThemeButton,
  useChatRoot,
  useConversation,
  Welcome,
  type ToolPart
} from "everthink/react";
import { applyStoredTheme, Chat } from "everthink/react";
import "everthink/react/styles.css";

export function Page() {
  return <Chat agent="assistant" name="ada" title="Assistant" suggestions={["What can you do?"]} />;
}

export function beginPage() {
  // Before the first render, so that nothing is painted in the other theme.
  applyStoredTheme();
}

export function Support({ orders }: { orders: ReactNode }) {
  const conversation = useConversation({ agent: "assistant", name: "ada" });
  return (
    <ChatRoot conversation={conversation}>
      <header>
        <h1>Support</h1>
        <StatusPill />
        <ThemeButton />
      </header>
      <ConnectionBanner />
      {orders}
      <Conversation empty={<Welcome title="How can we help?" suggestions={["Where is order 1002?"]} />} />
      <Composer placeholder="Ask about your order" />
    </ChatRoot>
  );
}

export function WeatherCard({ part }: { part: ToolPart }) {
  const { pendingApprovals, approve } = useChatRoot();
  const { city } = (getToolInput(part) ?? {}) as { city?: string };
  const weather = getToolOutput(part) as { degrees: number } | undefined;
  const question = getToolApproval(part, pendingApprovals);
  const asked = question?.asked;
  return (
    <section aria-label={getToolName(part)}>
      {city} {weather ? `${weather.degrees} °C` : getToolState(part)}
      {asked && <button onClick={() => void approve(asked)}>{question.summary}</button>}
    </section>
  );
}
