// How many questions wait for a person over all conversations; leads to the one that was used longest ago.
import type { ConversationEntry } from "../../shared/demo.ts";

interface WaitingQuestionsProps {
  conversations: readonly ConversationEntry[];
  onOpen(id: string): void;
}

export function WaitingQuestions({ conversations, onOpen }: WaitingQuestionsProps) {
  const [first] = conversations
    .filter(({ waiting = 0 }) => waiting > 0)
    .toSorted((left, right) => left.updatedAt - right.updatedAt);
  const count = countQuestions(conversations);
  // A screen reader says a change of what is there: the element stays.
  return (
    <div role="status">
      {first !== undefined && (
        <button type="button" className="waiting-button" onClick={() => onOpen(first.id)}>
          <span className="think-waiting-badge">{count}</span>
          {count === 1 ? "question waits for you" : "questions wait for you"}
        </button>
      )}
    </div>
  );
}

export function countQuestions(conversations: readonly ConversationEntry[]): number {
  return conversations.reduce((sum, { waiting = 0 }) => sum + waiting, 0);
}
