import { useChat } from "@ai-sdk/react";
import { DefaultChatTransport } from "ai";

const agent = "/agents/assistant/ada";
const transport = new DefaultChatTransport({ api: `${agent}/chat` });

export function OverHttp() {
  const { messages, sendMessage, stop } = useChat({ transport, resume: true });
  const stopAnswer = () => stop().then(() => fetch(`${agent}/chat`, { method: "DELETE" }));
  return (
    <button onClick={() => void sendMessage({ text: "Hello" })} onDoubleClick={() => void stopAnswer()}>
      {messages.length} messages
    </button>
  );
}
