import { useThink } from "everthink/react";

export function Ours() {
  const { messages, send, stop } = useThink({ agent: "Assistant", name: "ada" });
  return (
    <button onClick={() => void send("Hello")} onDoubleClick={() => void stop()}>
      {messages.length} messages
    </button>
  );
}
