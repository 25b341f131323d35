// A page as the AI SDK's documentation builds it: `useChat` with a transport of `ai`, and nothing of ours or Cloudflare's.
import { useChat } from "@ai-sdk/react";
import { DefaultChatTransport, WebSocketChatTransport, type UIMessage } from "ai";
import { createRoot } from "react-dom/client";
import { useLostStream } from "../connect/lost-stream.ts";

const query = new URLSearchParams(location.search);
const api = `http://${query.get("host")}/agents/chat-agent/${query.get("name")}`;
const isSocket = query.get("over") === "socket";
const transport = isSocket
  ? new WebSocketChatTransport({ url: `${api}/chat` })
  : new DefaultChatTransport({ api: `${api}/chat` });

/** Over HTTP a page that stops reading is a page that left: the answer goes on. */
async function stopAnswer() {
  if (!isSocket) await fetch(`${api}/chat`, { method: "DELETE" });
}

function Chat({ stored }: { stored: UIMessage[] }) {
  const { messages, status, error, sendMessage, stop, regenerate, resumeStream } = useChat({
    transport,
    messages: stored,
    resume: true
  });
  useLostStream({ error, resumeStream });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const field = event.currentTarget.elements.namedItem("question") as HTMLInputElement;
        void sendMessage({ text: field.value });
        field.value = "";
      }}
    >
      <input name="question" aria-label="Question" />
      <button type="button" id="stop" onClick={() => void stop().then(stopAnswer)}>
        Stop
      </button>
      <button type="button" id="regenerate" onClick={() => void regenerate()}>
        Again
      </button>
      <output id="status">{status}</output>
      <pre id="messages">{JSON.stringify(messages)}</pre>
    </form>
  );
}

const stored = (await (await fetch(`${api}/get-messages`)).json()) as UIMessage[];
createRoot(document.getElementById("root") as HTMLElement).render(<Chat stored={stored} />);
