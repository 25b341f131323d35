import { useAgentChat } from "@cloudflare/ai-chat/react";
import { useAgent } from "agents/react";

export function Published() {
  const agent = useAgent({ agent: "Assistant", name: "ada" });
  const { messages, sendMessage, stop } = useAgentChat({ agent });
  return (
    <button onClick={() => void sendMessage({ text: "Hello" })} onDoubleClick={() => void stop()}>
      {messages.length} messages
    </button>
  );
}
