// A turn that stands still because a budget has no room: what it needs, what was spent, and a person who grants more or does not.
import { useId, useState, type FormEvent } from "react";
import { Icon } from "../page/icons.tsx";
import { amountText, readAmount, type BudgetQuestion } from "./budget-question.ts";
import { useDecision } from "./use-decision.ts";

export interface BudgetCardProps {
  readonly question: BudgetQuestion;
  /** In the question's unit. */
  grant(question: BudgetQuestion, amount: number): Promise<unknown>;
  reject(question: BudgetQuestion): Promise<unknown>;
}

/**
 * The question of a turn that waits for more budget. `Conversation` shows it below the answer.
 *
 * @example
 * {conversation.budgets.questions.map((question) => (
 *   <BudgetCard key={question.executionId} question={question} {...conversation.budgets} />
 * ))}
 */
export function BudgetCard({ question, grant, reject }: BudgetCardProps) {
  const { needs, spent, unit, share } = question;
  const suggested = amountText(question);
  const [text, setText] = useState(suggested);
  const { progress, decide } = useDecision();
  const id = useId();
  const amount = readAmount(text);
  const isSent = progress.step === "sent";
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    // What was suggested is granted to its last fraction of a cent.
    if (amount !== undefined) void decide(grant(question, text === suggested ? question.amount : amount));
  };
  return (
    <form
      className="think-part think-budget-card"
      role="group"
      aria-label={`Decision: the answer ${needs}`}
      onSubmit={onSubmit}
    >
      <p className="think-approval-summary">
        <Icon name="hand" />
        The answer {needs}
      </p>
      {share !== undefined && (
        <div className="think-budget-bar" aria-hidden="true">
          <span style={{ transform: `scaleX(${share})` }} />
        </div>
      )}
      {spent !== undefined && <p className="think-approval-note">{capitalised(spent)}.</p>}
      <p className="think-approval-note">It goes on where it stopped. You may close this page and decide later.</p>
      {progress.step === "failed" && (
        <p className="think-tool-failure" role="alert">
          {progress.why}
        </p>
      )}
      <div className="think-approval-actions">
        <span className="think-budget-amount">
          <label htmlFor={id}>{unit === "usd" ? "US dollars" : "Tokens"}</label>
          <input
            id={id}
            className="think-text-field"
            inputMode="decimal"
            value={text}
            aria-invalid={amount === undefined || undefined}
            onChange={(event) => setText(event.target.value)}
          />
        </span>
        <button type="submit" className="think-solid-button" disabled={isSent || amount === undefined}>
          Grant and go on
        </button>
        <button
          type="button"
          className="think-line-button"
          disabled={isSent}
          onClick={() => void decide(reject(question))}
        >
          Reject
        </button>
      </div>
    </form>
  );
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
