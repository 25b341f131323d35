// A colleague's own conversation, beside the one that asked it: live while it works, and open for questions afterwards.
import { useEffect, useRef, useState, type FormEvent } from "react";
import type { AgentRun } from "everthink/client";
import { IconButton, MessageParts, messageText, runName, runWord, useThink } from "everthink/react";
import type { UIMessage } from "ai";

interface RunPanelProps {
  run: AgentRun;
  address: { readonly url: string };
  onClose(): void;
}

export function RunPanel({ run, address, onClose }: RunPanelProps) {
  const { messages, status, send, error } = useThink(address);
  const name = runName(run);
  const isBusy = status === "running" || status === "queued" || status === "recovering";
  const end = useRef<HTMLDivElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    heading.current?.focus();
  }, [run.runId]);
  // Newer browsers return a promise here, which is no clean-up.
  useEffect(() => {
    end.current?.scrollIntoView({ block: "end" });
  }, [messages]);
  return (
    <aside className="panel run-panel" aria-label={`Conversation of ${name}`}>
      <div className="panel-head">
        <h2 ref={heading} tabIndex={-1}>
          {name}
        </h2>
        <span className={isBusy ? "think-run-word think-shimmer" : "think-run-word"}>
          {isBusy ? "working" : runWord(run)}
        </span>
        <IconButton icon="close" label={`Close the conversation of ${name}`} onClick={onClose} />
      </div>
      <div className="run-log" role="log" aria-label={`What ${name} says`} tabIndex={0}>
        {messages.map((message, index) => (
          <RunMessage key={message.id} message={message} isGrowing={isBusy && index === messages.length - 1} />
        ))}
        {error !== undefined && <p className="think-run-words think-run-error">{error}</p>}
        <div ref={end} />
      </div>
      <AskForm name={name} isBusy={isBusy} onAsk={(text) => void send(text)} />
    </aside>
  );
}

function RunMessage({ message, isGrowing }: { message: UIMessage; isGrowing: boolean }) {
  if (message.role === "user") return <div className="run-question">{messageText(message)}</div>;
  return (
    <div className="run-answer">
      <MessageParts message={message} isGrowing={isGrowing} />
    </div>
  );
}

function AskForm({ name, isBusy, onAsk }: { name: string; isBusy: boolean; onAsk(text: string): void }) {
  const [text, setText] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (text.trim() === "") return;
    onAsk(text.trim());
    setText("");
  };
  return (
    <form className="run-ask" onSubmit={submit}>
      <input
        className="think-text-field"
        aria-label={`Ask ${name}`}
        placeholder={isBusy ? `${name} is working; ask next` : `Ask ${name} something`}
        maxLength={2_000}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <IconButton icon="send" type="submit" label={`Send to ${name}`} disabled={text.trim() === ""} />
    </form>
  );
}
