// A turn that failed: why, and one way on. The announcer says it aloud.
import { Icon } from "../icons.tsx";

export const FAILED = "This answer failed.";

export function TurnError({ error, onRetry }: { error: string; onRetry: () => void }) {
  return (
    <div className="turn-error" role="group" aria-label="Error">
      <Icon name="warning" />
      <div>
        <p className="turn-error-title">{FAILED}</p>
        <p className="turn-error-text">{error}</p>
      </div>
      <button type="button" className="line-button" onClick={onRetry}>
        Try again
      </button>
    </div>
  );
}
