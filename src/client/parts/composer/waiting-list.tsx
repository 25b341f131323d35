// Messages that wait for a place in the answer, one chip each: what it says, where it stands, and how to change it or take it
// back. People who do not see the chips are told each change.
import { useEffect, useRef, useState } from "react";
import { messageText } from "../message/message-text.ts";
import { EditForm } from "../message/edit-form.tsx";
import { IconButton } from "../page/icon-button.tsx";
import { Icon } from "../page/icons.tsx";
import type { WaitingMessage } from "./waiting-messages.ts";

/** How long what became of a message is shown here. */
const ENDED_FOR_MS = 6_000;
/** Of the names of buttons. */
const NAMED_CHARACTERS = 60;

interface WaitingListProps {
  readonly messages: readonly WaitingMessage[];
  /** Resolves false if it was too late. */
  onEdit(id: string, parts: WaitingMessage["parts"]): Promise<boolean>;
  onWithdraw(id: string): void;
  onForget(id: string): void;
  /** Words that came too late to change anything. */
  onLate(text: string): void;
  /** The chip with the keyboard's place in it is gone. */
  onLeave(): void;
}

export function WaitingList(props: WaitingListProps) {
  const { messages } = props;
  const list = useRef<HTMLUListElement>(null);
  return (
    <>
      <Changes lines={messages.map((message) => `${textOf(message)}: ${message.words}`)} />
      {messages.length > 0 && (
        <ul className="think-waiting" aria-label="Waiting messages" ref={list}>
          {messages.map((message) => (
            <Chip key={message.id} message={message} {...props} />
          ))}
        </ul>
      )}
    </>
  );
}

/** Says what is new since the last time. */
function Changes({ lines }: { lines: readonly string[] }) {
  const before = useRef<readonly string[]>(lines);
  const [said, setSaid] = useState("");
  useEffect(() => {
    const news = lines.filter((line) => !before.current.includes(line));
    before.current = lines;
    if (news.length > 0) setSaid(news.join(". "));
  }, [lines]);
  return (
    <p className="think-only-heard" aria-live="polite">
      {said}
    </p>
  );
}

function Chip({
  message,
  onEdit,
  onWithdraw,
  onForget,
  onLate,
  onLeave
}: WaitingListProps & { message: WaitingMessage }) {
  const { id, kind, state, words, parts } = message;
  const [draft, setDraft] = useState<string>();
  const item = useRef<HTMLLIElement>(null);
  const text = textOf(message);
  const name = text.length > NAMED_CHARACTERS ? `${text.slice(0, NAMED_CHARACTERS)}…` : text;
  const isEnded = state === "ended";
  useEffect(() => {
    // Words that are being written are not taken away.
    if (!isEnded || draft !== undefined) return;
    const timer = setTimeout(() => onForget(id), ENDED_FOR_MS);
    return () => clearTimeout(timer);
  }, [isEnded, draft, id, onForget]);
  const close = () => {
    setDraft(undefined);
    // Back to where the keyboard was, when the form is gone.
    requestAnimationFrame(() => item.current?.querySelector("button")?.focus());
  };
  const save = async (edited: string) => {
    close();
    const pictures = parts.filter(({ type }) => type === "file");
    if (!(await onEdit(id, [...pictures, { type: "text", text: edited }]))) onLate(edited);
  };
  if (draft !== undefined) {
    return (
      <li className="think-waiting-edit" ref={item}>
        <EditForm
          text={draft}
          words={{ field: "Edited waiting message", save: "Save" }}
          onSave={(edited) => void save(edited)}
          onCancel={close}
        />
      </li>
    );
  }
  return (
    <li data-kind={kind} data-state={state} ref={item}>
      <Icon name={isEnded ? "check" : kind === "steer" ? "steer" : "later"} size={16} />
      <span className="think-waiting-text" title={text}>
        {text}
      </span>
      <span className="think-waiting-words">{words}</span>
      {state === "waiting" && (
        <>
          <IconButton
            icon="pencil"
            size={14}
            label={`Edit “${name}”`}
            onClick={() => setDraft(messageText({ id, role: "user", parts }))}
          />
          <IconButton
            icon="close"
            size={14}
            label={`Take back “${name}”`}
            onClick={() => {
              onWithdraw(id);
              onLeave();
            }}
          />
        </>
      )}
    </li>
  );
}

function textOf({ id, parts }: WaitingMessage): string {
  const text = messageText({ id, role: "user", parts });
  return text === "" ? "A picture" : text;
}
