// The page under test, without the hooks: what it shows of a chat and the buttons a user presses. Each generation's
// folder calls its own published hooks and hands the result to this view; that the results fit is part of the test.
import { useState } from "react";

export interface ShownPart {
  readonly type: string;
  readonly text?: string;
  readonly state?: string;
  readonly toolCallId?: string;
  readonly output?: unknown;
  readonly errorText?: string;
  readonly approval?: { readonly id: string; readonly approved?: boolean };
}

export interface ShownMessage {
  readonly id: string;
  readonly role: string;
  readonly parts: readonly ShownPart[];
}

export interface Chat {
  readonly messages: readonly ShownMessage[];
  readonly status: string;
  readonly error: Error | undefined;
  readonly isStreaming: boolean;
  readonly isRecovering: boolean;
  sendMessage(message: { text: string; messageId?: string }): Promise<void>;
  regenerate(): Promise<void>;
  stop(): Promise<void>;
  clearHistory(): void;
  addToolOutput(answer: { toolCallId: string; output: unknown }): void;
  addToolApprovalResponse(answer: { id: string; approved: boolean }): void | PromiseLike<void>;
}

export interface ChatViewProps {
  chat: Chat;
  /** Asks the server something over the page's socket. */
  checkConnection: () => Promise<unknown>;
}

/** What the page says for a tool that only a browser can answer. */
export function answerTool(toolName: string): Record<string, string> {
  if (toolName === "pageTitle") return { title: document.title };
  return toolName === "pageWidth" ? { width: String(window.innerWidth) } : { name: "a browser" };
}

/** Tools the server learns of from the page. */
export const ownTools = {
  pageWidth: {
    description: "How wide the page is.",
    parameters: { type: "object" as const, properties: { detail: { type: "string" as const } } },
    execute: () => answerTool("pageWidth")
  }
};

export function ChatView({ chat, checkConnection }: ChatViewProps) {
  const [text, setText] = useState("");
  const [checks, setChecks] = useState(0);
  const take = (): string => {
    setText("");
    return text;
  };
  return (
    <main>
      <p>
        <output id="status">{chat.status}</output>
        {chat.isStreaming && <output id="streaming"> streaming</output>}
        {chat.isRecovering && <output id="recovering"> recovering</output>}
        {chat.error && <output id="error">{chat.error.message}</output>}
      </p>
      <ol>
        {chat.messages.map((message) => (
          <li key={message.id} data-message={message.id} data-role={message.role}>
            <b>{message.role}</b> {message.parts.map((part, index) => showPart({ part, index, chat }))}
            {message.role === "user" && (
              <button className="edit" onClick={() => void chat.sendMessage({ text: take(), messageId: message.id })}>
                Edit
              </button>
            )}
          </li>
        ))}
      </ol>
      <input id="text" value={text} onChange={(event) => setText(event.target.value)} />
      <button id="send" onClick={() => void chat.sendMessage({ text: take() })}>
        Send
      </button>
      <button id="stop" onClick={() => void chat.stop()}>
        Stop
      </button>
      <button id="regenerate" onClick={() => void chat.regenerate()}>
        Regenerate
      </button>
      <button id="clear" onClick={() => chat.clearHistory()}>
        Clear
      </button>
      <button id="check" onClick={() => void checkConnection().then(() => setChecks((count) => count + 1))}>
        Check connection
      </button>
      <output id="checks">{checks}</output>
      <pre id="messages">{JSON.stringify(chat.messages, null, 1)}</pre>
    </main>
  );
}

function showPart({ part, index, chat }: { part: ShownPart; index: number; chat: Chat }) {
  const { type, toolCallId, approval } = part;
  if (type === "text") return <span key={index}>{part.text}</span>;
  if (toolCallId === undefined) return <i key={index}>[{type}]</i>;
  const toolName = type.replace(/^tool-/, "");
  return (
    <fieldset key={index} data-call={toolCallId} data-state={part.state}>
      {toolName}: {part.state} {JSON.stringify(part.output)} {part.errorText}
      {part.state === "input-available" && (
        <button
          className="answer"
          data-tool={toolName}
          onClick={() => chat.addToolOutput({ toolCallId, output: answerTool(toolName) })}
        >
          Answer
        </button>
      )}
      {part.state === "approval-requested" && approval && (
        <>
          <button
            className="approve"
            onClick={() => void chat.addToolApprovalResponse({ id: approval.id, approved: true })}
          >
            Approve
          </button>
          <button
            className="deny"
            onClick={() => void chat.addToolApprovalResponse({ id: approval.id, approved: false })}
          >
            Deny
          </button>
        </>
      )}
    </fieldset>
  );
}
