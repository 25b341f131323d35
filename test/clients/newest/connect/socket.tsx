import { useChat } from "@ai-sdk/react";
import { WebSocketChatTransport } from "ai";

const transport = new WebSocketChatTransport({ url: "/agents/assistant/ada/chat" });

export function OverSocket() {
  const { messages, sendMessage, stop } = useChat({ transport, resume: true });
  return (
    <button onClick={() => void sendMessage({ text: "Hello" })} onDoubleClick={() => void stop()}>
      {messages.length} messages
    </button>
  );
}
