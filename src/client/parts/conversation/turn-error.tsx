// A turn that failed: why, and one way on. The announcer says it aloud.
import { Icon } from "../page/icons.tsx";

export const FAILED = "This answer failed.";

export function TurnError({ error, onRetry }: { error: string; onRetry: () => void }) {
  return (
    <div className="think-turn-error" role="group" aria-label="Error">
      <Icon name="warning" />
      <div>
        <p className="think-turn-error-title">{FAILED}</p>
        <p className="think-turn-error-text">{error}</p>
      </div>
      <button type="button" className="think-line-button" onClick={onRetry}>
        Try again
      </button>
    </div>
  );
}
