// A conversation before its first word: what this is, and things to try.
import { SUGGESTIONS } from "../../shared/suggestions.ts";
import { Lighthouse } from "./lighthouse.tsx";

interface EmptyConversationProps {
  hasPlug: boolean;
  onSuggestion(prompt: string): void;
}

export function EmptyConversation({ hasPlug, onSuggestion }: EmptyConversationProps) {
  return (
    <section className="empty-conversation" aria-label="Begin">
      <Lighthouse />
      <h2>{hasPlug ? "Ask something. Then pull the plug." : "Ask something."}</h2>
      <p>
        {hasPlug
          ? "Kill the server’s process in the middle of an answer. It comes back, and the answer goes on where it stopped."
          : "Reload, close the page, restart the server: the answer goes on where it stopped."}
      </p>
      <ul className="suggestions">
        {SUGGESTIONS.map(({ title, prompt }) => (
          <li key={title}>
            <button type="button" onClick={() => onSuggestion(prompt)}>
              <span className="suggestion-title">{title}</span>
              <span className="suggestion-prompt">{prompt}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
