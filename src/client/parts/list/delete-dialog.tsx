// Asks before a conversation is deleted for good. Escape and the first button keep it.
import { useEffect, useRef } from "react";

interface DeleteDialogProps {
  title: string;
  onKeep(): void;
  onDelete(): void;
}

export function DeleteDialog({ title, onKeep, onDelete }: DeleteDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog
      ref={dialog}
      className="think-part think-dialog"
      aria-label="Delete this conversation?"
      onClose={onKeep}
      onKeyDown={(event) => event.stopPropagation()}
    >
      <h2>Delete this conversation?</h2>
      <p>“{title}” and everything stored for it are gone for good.</p>
      <div className="think-dialog-actions">
        <button type="button" className="think-line-button" onClick={onKeep}>
          Keep it
        </button>
        <button type="button" className="think-solid-button" onClick={onDelete}>
          Delete conversation
        </button>
      </div>
    </dialog>
  );
}
