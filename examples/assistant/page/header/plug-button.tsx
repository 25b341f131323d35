// The plug: a socket in the wall with a plug in it. It leans out when it is pointed at, glows while an answer is being
// written, and lies beside the socket until the process is back.
interface PlugButtonProps {
  isPulled: boolean;
  isInviting: boolean;
  onPull(): void;
}

export function PlugButton({ isPulled, isInviting, onPull }: PlugButtonProps) {
  return (
    <button
      type="button"
      className="plug-button"
      aria-label="Pull the plug"
      title="Kill the server's process, for real"
      data-pulled={isPulled || undefined}
      data-inviting={isInviting || undefined}
      disabled={isPulled}
      onClick={onPull}
    >
      <svg viewBox="0 0 62 32" width="62" height="32" aria-hidden="true" focusable="false">
        <rect className="socket-plate" x="1.5" y="2.5" width="27" height="27" rx="7" />
        <circle className="socket-well" cx="15" cy="16" r="9.5" />
        <path className="socket-holes" d="M13 12.5h3.5M13 19.5h3.5" />
        <g className="plug">
          <path className="prongs" d="M15 12.5h8M15 19.5h8" />
          <path
            className="plug-body"
            d="M21.5 8h5c4.5 0 7.5 3.5 7.5 8s-3 8-7.5 8h-5A2 2 0 0 1 19.5 22V10a2 2 0 0 1 2-2Z"
          />
          <path className="plug-shine" d="M22.5 10.5h3.5" />
          <path className="plug-neck" d="M34 16h3" />
          <path className="cord" d="M37 16c6.5 0 6 6 12.5 6S56 16 62 16" />
        </g>
      </svg>
      <span className="plug-label" aria-hidden="true">
        Pull the plug
      </span>
    </button>
  );
}
