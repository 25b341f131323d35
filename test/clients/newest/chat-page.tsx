import { useAgentChat } from "@cloudflare/ai-chat/react";
import { useAgent } from "agents/react";
import { answerTool, ChatView, ownTools } from "../../browser/page/chat-view.tsx";
import { mount } from "../../browser/page/mount.tsx";
import { readPageSettings } from "../../browser/page/settings.ts";

const { answers, ...address } = readPageSettings(location.search);

function ChatPage() {
  const agent = useAgent({ agent: "ChatAgent", ...address });
  const chat = useAgentChat({
    agent,
    tools: ownTools,
    onToolCall: ({ toolCall, addToolOutput }) => {
      if (answers === "by-button") return;
      addToolOutput({ toolCallId: toolCall.toolCallId, output: answerTool(toolCall.toolName) });
    }
  });
  return <ChatView chat={chat} checkConnection={() => agent.call("fence")} />;
}

mount(<ChatPage />);
