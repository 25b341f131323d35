// "Messenger": a small Telegram chat with the agent, on a simulated server. A person writes and presses buttons here; what
// the bot posts and edits there is shown as it comes.
import { useState, type FormEvent } from "react";
import { IconButton, Markdown, useStickToEnd } from "everthink/react";
import { useMessenger, type ChatMessage, type Messenger } from "./use-messenger.ts";
import type { PanelViewProps } from "./views.ts";

/** Telegram's own limit. */
const MAX_TEXT_LENGTH = 4_096;

const STARTERS = [
  'Take a note that says "the lamp is lit", then publish it on the board.',
  "Tell me a long story about a lighthouse keeper."
];

export function MessengerView({ chat }: PanelViewProps) {
  const messenger = useMessenger(chat);
  const { messages, isTyping, problem } = messenger;
  const stick = useStickToEnd(messages.length > 0);
  return (
    <div className="messenger">
      <div className="messenger-head">
        <img className="messenger-face" src="/icon.svg" alt="" width="38" height="38" />
        <span className="messenger-name">Assistant</span>
        <span className="messenger-status" role="status" data-typing={isTyping || undefined}>
          {isTyping ? "is typing …" : "bot in a simulated Telegram"}
        </span>
      </div>
      <div
        className="messenger-scroller"
        role="log"
        aria-label="Telegram chat"
        aria-relevant="additions"
        tabIndex={0}
        ref={stick.scrollerRef}
      >
        <div className="messenger-log" ref={stick.contentRef}>
          {messages.length === 0 && <Beginning onSay={(text) => void messenger.say(text)} />}
          {messages.map((message) => (
            <Bubble key={message.id} message={message} onPress={messenger.press} />
          ))}
        </div>
      </div>
      {problem !== undefined && (
        <p className="messenger-problem" role="alert">
          {problem}
        </p>
      )}
      <SayForm say={messenger.say} />
    </div>
  );
}

function Beginning({ onSay }: { onSay(text: string): void }) {
  return (
    <div className="messenger-beginning">
      <p>
        Write to the agent as a person in Telegram would. It is the same conversation as in the page: what you say here
        is answered in both, and a question that waits for a decision can be answered in either.
      </p>
      {STARTERS.map((text) => (
        <button key={text} type="button" className="messenger-starter" onClick={() => onSay(text)}>
          {text}
        </button>
      ))}
    </div>
  );
}

function Bubble({ message, onPress }: { message: ChatMessage; onPress: Messenger["press"] }) {
  const { id, text, name, isCard, buttons } = message;
  return (
    <article
      className="messenger-message"
      aria-label={`${name ?? "Bot"} said`}
      data-own={name !== undefined || undefined}
    >
      <div className="messenger-bubble">
        {name !== undefined ? text : isCard ? <CardText text={text} /> : <Markdown text={text} isGrowing={false} />}
      </div>
      {buttons.length > 0 && (
        <div className="messenger-buttons">
          {buttons.map((label) => (
            <button key={label} type="button" onClick={() => onPress(id, label)}>
              {label}
            </button>
          ))}
        </div>
      )}
    </article>
  );
}

/** In Telegram's markup a line between asterisks is bold. */
function CardText({ text }: { text: string }) {
  return text.split("\n").map((line, index) => {
    const [, bold] = /^\*(.+)\*$/.exec(line) ?? [];
    return <p key={index}>{bold === undefined ? line : <strong>{bold}</strong>}</p>;
  });
}

function SayForm({ say }: Pick<Messenger, "say">) {
  const [text, setText] = useState("");
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const said = text.trim();
    if (said === "") return;
    setText("");
    // Not lost: it can be sent again.
    if (!(await say(said))) setText((typed) => (typed === "" ? said : typed));
  };
  return (
    <form className="messenger-say" onSubmit={(event) => void submit(event)}>
      <input
        className="think-text-field"
        aria-label="Message in Telegram"
        placeholder="Message as Ada"
        autoComplete="off"
        maxLength={MAX_TEXT_LENGTH}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <IconButton icon="send" type="submit" label="Send in Telegram" disabled={text.trim() === ""} />
    </form>
  );
}
