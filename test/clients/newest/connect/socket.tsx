import { Chat, useChat } from "@ai-sdk/react";
import { WebSocketChatTransport } from "ai";

// Kept outside of the component: useChat stops a chat of its own when the component goes, and with it the answer.
const chat = new Chat({ transport: new WebSocketChatTransport({ url: "/agents/assistant/ada/chat" }) });

export function OverSocket() {
  const { messages, sendMessage, stop } = useChat({ chat, resume: true });
  return (
    <button onClick={() => void sendMessage({ text: "Hello" })} onDoubleClick={() => void stop()}>
      {messages.length} messages
    </button>
  );
}
