// Where a person writes. Enter sends, Shift+Enter starts a line; pictures come by button, paste or drop. While an
// answer is being written a further message may be sent: it waits for its turn.
import { useEffect, useRef, type ClipboardEvent, type KeyboardEvent, type RefObject } from "react";
import { IconButton } from "../icon-button.tsx";
import { Icon, StopIcon } from "../icons.tsx";
import { IMAGE_TYPES } from "./read-image.ts";
import { Thumbnails } from "./thumbnails.tsx";
import type { Attachments } from "./use-attachments.ts";

interface ComposerProps {
  fieldRef: RefObject<HTMLTextAreaElement | null>;
  draft: string;
  attachments: Attachments;
  canStop: boolean;
  onDraft(text: string): void;
  onSend(): void;
  onSubmit(): void;
  onStop(): void;
}

export function Composer(props: ComposerProps) {
  const { fieldRef, draft, attachments, canStop, onDraft, onSend, onSubmit, onStop } = props;
  const picker = useRef<HTMLInputElement>(null);
  const isEmpty = draft.trim() === "" && attachments.images.length === 0;
  useEffect(() => {
    fitHeight(fieldRef.current);
  }, [fieldRef, draft]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    if (!isEmpty) onSend();
  };
  const onPaste = (event: ClipboardEvent) => {
    const files = [...event.clipboardData.files];
    if (files.length === 0) return;
    event.preventDefault();
    void attachments.add(files);
  };
  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isEmpty) onSend();
      }}
    >
      <Thumbnails images={attachments.images} onRemove={attachments.remove} />
      {attachments.problem !== undefined && (
        <p className="composer-problem" role="alert">
          {attachments.problem}
        </p>
      )}
      <textarea
        ref={fieldRef}
        aria-label="Message"
        placeholder="Write a message"
        rows={1}
        value={draft}
        onChange={(event) => onDraft(event.target.value)}
        onKeyDown={onKeyDown}
        onPaste={onPaste}
      />
      <div className="composer-actions">
        <IconButton icon="image" label="Attach images" onClick={() => picker.current?.click()} />
        <input
          ref={picker}
          type="file"
          hidden
          multiple
          accept={IMAGE_TYPES.join(",")}
          onChange={(event) => {
            void attachments.add([...(event.target.files ?? [])]);
            // Choosing the same file again must be a change again.
            event.target.value = "";
          }}
        />
        <span className="composer-hint" aria-hidden="true">
          <kbd>Enter</kbd> sends <kbd>Shift</kbd> <kbd>Enter</kbd> new line
        </span>
        <IconButton icon="hand" label="Do this in the background" disabled={isEmpty} onClick={onSubmit} />
        {canStop && (
          <button type="button" className="round-button stop" aria-label="Stop" title="Stop" onClick={onStop}>
            <StopIcon />
          </button>
        )}
        <button type="submit" className="round-button send" aria-label="Send" title="Send" disabled={isEmpty}>
          <Icon name="send" />
        </button>
      </div>
    </form>
  );
}

const MOST_HEIGHT_PX = 240;

/** As high as its text, up to a limit; then it scrolls. */
function fitHeight(field: HTMLTextAreaElement | null): void {
  if (field === null) return;
  field.style.height = "auto";
  field.style.height = `${Math.min(MOST_HEIGHT_PX, field.scrollHeight)}px`;
}
