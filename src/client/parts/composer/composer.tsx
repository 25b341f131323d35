// Where a person writes. Enter sends, Shift+Enter starts a line; pictures come by button, paste or drop. While an answer is
// being written, Enter gives the message to it, and Alt+Enter keeps it for after it.
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
import { IMAGE_TYPES } from "./read-image.ts";
import { Thumbnails } from "./thumbnails.tsx";
import type { Attachments } from "./use-attachments.ts";
import { WaitingList } from "./waiting-list.tsx";
import { useWaitingMessages } from "./waiting-messages.ts";
import { waysOf, type Give, type Way } from "./ways.ts";

export interface ComposerProps {
  readonly placeholder?: string;
  /** Offers to answer in the background. For classes that list `submitMessages` among their callables. */
  readonly canSubmit?: boolean;
  /** False: no pictures. For models that see none. */
  readonly canAttach?: boolean;
  /**
   * What Enter does while an answer is being written: gives the message to it (the default), keeps it for after it, or sends
   * it as at any other time. Alt+Enter does the other of the first two. `send` is for agents without steering.
   */
  readonly whileBusy?: "steer" | "follow-up" | "send";
}

/**
 * The field for messages, with pictures, "Stop", the messages that wait while an answer is written, and the questions that
 * are out of sight. `/` and Ctrl+K lead to it, Escape stops the answer.
 *
 * @example
 * <Composer placeholder="Ask about your order" />
 */
export function Composer(props: ComposerProps) {
  const { placeholder = "Write a message", canSubmit = false, canAttach = true, whileBusy = "steer" } = props;
  const conversation = useChatRoot();
  const { actions, attachments, isBusy, connection, pendingApprovals, problem, forgetProblem } = conversation;
  const { submit, stop } = actions;
  const waiting = useWaitingMessages(conversation);
  const [draft, setDraft] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  const focusComposer = useCallback(() => field.current?.focus(), []);
  usePageKeys({
    focusComposer,
    escape: useCallback(() => {
      if (isBusy) stop();
      return isBusy;
    }, [isBusy, stop])
  });
  const isEmpty = draft.trim() === "" && attachments.images.length === 0;
  const keep = (text: string) => setDraft((now) => (now === "" ? text : now));
  const hand = async (to: Give) => {
    if (isEmpty) return;
    const text = draft.trim();
    const pictures = attachments.images.map(({ id: _id, ...image }) => ({ type: "file" as const, ...image }));
    const parts = [...pictures, ...(text === "" ? [] : [{ type: "text" as const, text }])];
    setDraft("");
    attachments.clear();
    // Words that were refused are not lost.
    if ((await to(parts)) === false) keep(text);
  };
  // What is written without a connection is kept by the outbox.
  const canSteer = isBusy && connection === "open" && whileBusy !== "send";
  const [first, second] = waysOf(canSteer ? whileBusy : "send", actions);
  return (
    <div className="think-part think-dock">
      <ApprovalBar pending={pendingApprovals} />
      <WaitingList
        messages={waiting.messages}
        onEdit={actions.editQueued}
        onWithdraw={actions.withdraw}
        onForget={waiting.forget}
        onLate={keep}
        onLeave={focusComposer}
      />
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
          void hand(first.give);
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
          onEnter={(isAlt) => void hand(isAlt && second ? second.give : first.give)}
        />
        <Actions
          {...{ first, second, isEmpty, canAttach }}
          hasStep={isBusy && whileBusy !== "send"}
          onGive={(give) => void hand(give)}
          {...(canSubmit && { onSubmit: () => void hand(submit) })}
        />
      </form>
    </div>
  );
}

interface ActionsProps {
  readonly first: Way;
  readonly second: Way | undefined;
  readonly isEmpty: boolean;
  readonly canAttach: boolean;
  /** The answer can be ended after its step. */
  readonly hasStep: boolean;
  onGive(give: Give): void;
  /** In the background. */
  onSubmit?(): void;
}

function Actions({ first, second, isEmpty, canAttach, hasStep, onGive, onSubmit }: ActionsProps) {
  const { actions, attachments, isBusy } = useChatRoot();
  return (
    <div className="think-composer-actions">
      {canAttach && <AttachButton attachments={attachments} />}
      <KeyHint first={first} second={second} />
      {onSubmit && <IconButton icon="hand" label="Do this in the background" disabled={isEmpty} onClick={onSubmit} />}
      {hasStep && <StopAfterStepButton onStop={actions.stopAfterStep} />}
      {isBusy && <StopButton onStop={actions.stop} />}
      {second && (
        <IconButton icon={second.icon} label={second.label} disabled={isEmpty} onClick={() => onGive(second.give)} />
      )}
      <button
        type="submit"
        className="think-round-button think-send"
        aria-label={first.label}
        title={first.label}
        disabled={isEmpty}
      >
        <Icon name={first.icon} />
      </button>
    </div>
  );
}

function KeyHint({ first, second }: { first: Way; second: Way | undefined }) {
  return (
    <span className="think-composer-hint" aria-hidden="true">
      <kbd>Enter</kbd> {first.verb}{" "}
      <span>
        <kbd>{second ? ALT_KEY : "Shift"}</kbd> <kbd>Enter</kbd> {second ? second.verb : "new line"}
      </span>
    </span>
  );
}

const ALT_KEY = typeof navigator !== "undefined" && /mac|iphone|ipad/i.test(navigator.userAgent) ? "Option" : "Alt";

interface FieldProps {
  fieldRef: RefObject<HTMLTextAreaElement | null>;
  draft: string;
  placeholder: string;
  attachments: Attachments;
  onDraft(text: string): void;
  onEnter(isAlt: boolean): void;
}

function Field({ fieldRef, draft, placeholder, attachments, onDraft, onEnter }: FieldProps) {
  useEffect(() => {
    fitHeight(fieldRef.current);
  }, [fieldRef, draft]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    onEnter(event.altKey);
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

/** It is there as long as an answer is being written: a press lasts until then. */
function StopAfterStepButton({ onStop }: { onStop: () => void }) {
  const [isPressed, setPressed] = useState(false);
  const label = isPressed ? "Stops after this step" : "Stop after this step";
  return (
    <IconButton
      icon="finish"
      label={label}
      disabled={isPressed}
      onClick={() => {
        setPressed(true);
        onStop();
      }}
    />
  );
}

const MOST_HEIGHT_PX = 240;

/** As high as its text, up to a limit; then it scrolls. */
function fitHeight(field: HTMLTextAreaElement | null): void {
  if (field === null) return;
  field.style.height = "auto";
  field.style.height = `${Math.min(MOST_HEIGHT_PX, field.scrollHeight)}px`;
}
