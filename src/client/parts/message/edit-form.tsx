// A question being written anew, in its place. Escape leaves it as it was.
import { useEffect, useRef, useState, type KeyboardEvent } from "react";

interface EditFormProps {
  text: string;
  /** Of the field, and of the button that ends it. */
  words?: { readonly field: string; readonly save: string };
  onSave(text: string): void;
  onCancel(): void;
}

const OF_A_MESSAGE = { field: "Edited message", save: "Save and send" };

export function EditForm({ text, words = OF_A_MESSAGE, onSave, onCancel }: EditFormProps) {
  const [draft, setDraft] = useState(text);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    field.current?.focus();
    field.current?.setSelectionRange(text.length, text.length);
  }, [text]);
  const save = () => {
    if (draft.trim() !== "") onSave(draft.trim());
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape") {
      // The page's own Escape stops the answer.
      event.stopPropagation();
      onCancel();
    } else if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
      event.preventDefault();
      save();
    }
  };
  return (
    <form
      className="think-edit-form"
      onKeyDown={onKeyDown}
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <textarea
        ref={field}
        aria-label={words.field}
        rows={Math.min(12, draft.split("\n").length)}
        value={draft}
        onChange={(event) => setDraft(event.target.value)}
      />
      <div className="think-edit-actions">
        <button type="button" className="think-line-button" aria-label="Cancel edit" onClick={onCancel}>
          Cancel
        </button>
        <button type="submit" className="think-solid-button" disabled={draft.trim() === ""}>
          {words.save}
        </button>
      </div>
    </form>
  );
}
