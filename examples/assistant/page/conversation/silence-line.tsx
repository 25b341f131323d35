// The model has said nothing for a while. It may be thinking: this is no error, and the user decides how long to wait.
interface SilenceLineProps {
  since: number;
  onStop(): void;
}

export function SilenceLine({ since, onStop }: SilenceLineProps) {
  const time = new Date(since).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  return (
    <p className="silence-line">
      <span className="lamp" aria-hidden="true" />
      The model has said nothing since {time}. It may still be thinking.
      <button type="button" className="line-button" onClick={onStop}>
        Stop
      </button>
    </p>
  );
}
