// Where a person writes. Enter sends, Shift+Enter starts a line; pictures come by button, paste or drop. While an
// answer is being written a further message may be sent: it waits for its turn.
import {
  useCallback,
  useEffect,
  useRef,
  useState,
  type ClipboardEvent,
  type KeyboardEvent,
  type RefObject
} from "react";
import { useChatRoot } from "../conversation/context.ts";
import { IconButton } from "../page/icon-button.tsx";
import { Icon, StopIcon } from "../page/icons.tsx";
import { ApprovalBar } from "./approval-bar.tsx";
import { usePageKeys } from "./page-keys.ts";
import { QueuedList, type QueuedMessage } from "./queued-list.tsx";
import { IMAGE_TYPES } from "./read-image.ts";
import { Thumbnails } from "./thumbnails.tsx";
import type { Attachments } from "./use-attachments.ts";

export interface ComposerProps {
  readonly placeholder?: string;
  /** Offers to answer in the background. For classes that list `submitMessages` among their callables. */
  readonly canSubmit?: boolean;
  /** False: no pictures. For models that see none. */
  readonly canAttach?: boolean;
  /** Messages that wait for a place in the answer, shown above the field. */
  readonly queued?: readonly QueuedMessage[];
  /** Takes one of them back. */
  readonly onRemoveQueued?: (id: string) => void;
}

/**
 * The field for messages, with pictures, "Stop", and the questions that are out of sight. `/` and Ctrl+K lead to it,
 * Escape stops the answer.
 *
 * @example
 * <Composer placeholder="Ask about your order" />
 */
export function Composer(props: ComposerProps) {
  const { placeholder = "Write a message", canSubmit = false, canAttach = true, queued = [], onRemoveQueued } = props;
  const { actions, attachments, isBusy, pendingApprovals, problem, forgetProblem } = useChatRoot();
  const { send, submit, stop } = actions;
  const [draft, setDraft] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  usePageKeys({
    focusComposer: useCallback(() => field.current?.focus(), []),
    escape: useCallback(() => {
      if (isBusy) stop();
      return isBusy;
    }, [isBusy, stop])
  });
  const isEmpty = draft.trim() === "" && attachments.images.length === 0;
  const hand = (to: typeof send) => {
    if (isEmpty) return;
    const text = draft.trim();
    const pictures = attachments.images.map(({ id: _id, ...image }) => ({ type: "file" as const, ...image }));
    to([...pictures, ...(text === "" ? [] : [{ type: "text" as const, text }])]);
    setDraft("");
    attachments.clear();
  };
  return (
    <div className="think-part think-dock">
      <ApprovalBar pending={pendingApprovals} />
      <QueuedList queued={queued} onRemove={onRemoveQueued} />
      {problem !== undefined && (
        <p className="think-problem" role="alert">
          {problem}
          <IconButton icon="close" size={14} label="Dismiss" onClick={forgetProblem} />
        </p>
      )}
      <form
        className="think-composer"
        onSubmit={(event) => {
          event.preventDefault();
          hand(send);
        }}
      >
        <Thumbnails images={attachments.images} onRemove={attachments.remove} />
        {attachments.problem !== undefined && (
          <p className="think-composer-problem" role="alert">
            {attachments.problem}
          </p>
        )}
        <Field
          fieldRef={field}
          {...{ draft, placeholder, attachments }}
          onDraft={setDraft}
          onEnter={() => hand(send)}
        />
        <div className="think-composer-actions">
          {canAttach && <AttachButton attachments={attachments} />}
          <span className="think-composer-hint" aria-hidden="true">
            <kbd>Enter</kbd> sends <kbd>Shift</kbd> <kbd>Enter</kbd> new line
          </span>
          {canSubmit && (
            <IconButton icon="hand" label="Do this in the background" disabled={isEmpty} onClick={() => hand(submit)} />
          )}
          {isBusy && <StopButton onStop={stop} />}
          <button
            type="submit"
            className="think-round-button think-send"
            aria-label="Send"
            title="Send"
            disabled={isEmpty}
          >
            <Icon name="send" />
          </button>
        </div>
      </form>
    </div>
  );
}

interface FieldProps {
  fieldRef: RefObject<HTMLTextAreaElement | null>;
  draft: string;
  placeholder: string;
  attachments: Attachments;
  onDraft(text: string): void;
  onEnter(): void;
}

function Field({ fieldRef, draft, placeholder, attachments, onDraft, onEnter }: FieldProps) {
  useEffect(() => {
    fitHeight(fieldRef.current);
  }, [fieldRef, draft]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    onEnter();
  };
  const onPaste = (event: ClipboardEvent) => {
    const files = [...event.clipboardData.files];
    if (files.length === 0) return;
    event.preventDefault();
    void attachments.add(files);
  };
  return (
    <textarea
      ref={fieldRef}
      aria-label="Message"
      placeholder={placeholder}
      rows={1}
      value={draft}
      onChange={(event) => onDraft(event.target.value)}
      onKeyDown={onKeyDown}
      onPaste={onPaste}
    />
  );
}

function AttachButton({ attachments }: { attachments: Attachments }) {
  const picker = useRef<HTMLInputElement>(null);
  return (
    <>
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
    </>
  );
}

function StopButton({ onStop }: { onStop: () => void }) {
  return (
    <button type="button" className="think-round-button think-stop" aria-label="Stop" title="Stop" onClick={onStop}>
      <StopIcon />
    </button>
  );
}

const MOST_HEIGHT_PX = 240;

/** As high as its text, up to a limit; then it scrolls. */
function fitHeight(field: HTMLTextAreaElement | null): void {
  if (field === null) return;
  field.style.height = "auto";
  field.style.height = `${Math.min(MOST_HEIGHT_PX, field.scrollHeight)}px`;
}
