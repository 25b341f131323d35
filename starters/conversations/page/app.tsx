// The page: the person's conversations on the left, on a phone behind a button, and one conversation beside them.
import { Chat, ConversationList, Icon, IconButton, Notice } from "everthink/react";
import { useState } from "react";
import { nameOf } from "../src/conversations.ts";
import type { PageSession } from "./session.ts";
import { greeting, suggestions, title } from "./suggestions.ts";
import { conversationPath, useConversations } from "./use-conversations.ts";

export function App({ session: { user, agent, model } }: { session: PageSession }) {
  // The person's own conversations; /?name=ada shows Ada's, to those whom src/login.ts lets in.
  const person = new URLSearchParams(location.search).get("name") ?? agent;
  const conversations = useConversations(person);
  const { list, currentId, problem } = conversations;
  const [isListOpen, setListOpen] = useState(false);
  const then = (act: () => void) => {
    setListOpen(false);
    act();
  };
  const showList = (
    <IconButton icon="menu" label="Show conversations" className="phone-only" onClick={() => setListOpen(true)} />
  );
  return (
    <div
      className="think-part app"
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !isListOpen) return;
        event.preventDefault();
        setListOpen(false);
      }}
    >
      <div className="backdrop" data-open={isListOpen || undefined} onClick={() => setListOpen(false)} />
      <aside className="sidebar" data-open={isListOpen || undefined} aria-label="Conversations">
        <div className="sidebar-head">
          <button type="button" className="new-conversation" onClick={() => then(conversations.create)}>
            <Icon name="plus" size={16} />
            New conversation
          </button>
          <IconButton
            icon="close"
            label="Hide conversations"
            className="phone-only"
            onClick={() => setListOpen(false)}
          />
        </div>
        {problem !== undefined && <p role="alert">{problem}</p>}
        <nav aria-label="Conversations">
          <ConversationList
            conversations={list}
            currentId={currentId}
            hrefOf={conversationPath}
            onOpen={(id) => then(() => conversations.open(id))}
            onRename={conversations.rename}
            onDelete={conversations.remove}
          />
        </nav>
        <form className="account" method="post" action="/logout">
          <span>
            {user} · {model.label}
          </span>
          <button className="think-line-button">Log out</button>
        </form>
      </aside>
      {currentId === undefined ? (
        <main className="think-chat" aria-busy="true" />
      ) : (
        <Chat
          key={currentId}
          agent="assistant"
          name={nameOf(person, currentId)}
          title={list.find(({ id }) => id === currentId)?.title ?? title}
          greeting={greeting}
          suggestions={suggestions}
          controls={showList}
          notice={model.problem === undefined ? null : <Notice kind="problem">{model.problem}</Notice>}
        />
      )}
    </div>
  );
}
