import { runAgentTUI } from "@ai-sdk/tui";
import { WebSocketChatTransport } from "ai";

const url = process.argv[2] ?? "http://localhost:8787/agents/assistant/ada/chat";
const transport = new WebSocketChatTransport({ url });

// 1.0.112 has the types of an older `ai`, which knows fewer chunks.
await runAgentTUI({ title: "Ada's assistant", transport: transport as never });
