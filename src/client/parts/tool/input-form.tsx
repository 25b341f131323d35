// What a call would run with, as fields: a person approves it with other values.
import { useEffect, useId, useRef, useState, type FormEvent, type KeyboardEvent } from "react";
import { fieldsOf, readFields, type InputField } from "./input-fields.ts";

const MOST_ROWS = 12;

interface InputFormProps {
  readonly input: unknown;
  /** What was written, by field: the card keeps it while its question is away. */
  readonly texts: ReadonlyMap<string, string>;
  onTexts(texts: ReadonlyMap<string, string>): void;
  readonly isDisabled: boolean;
  /** `changed`: undefined if every field was left as it is. */
  onApprove(changed: { readonly input: unknown } | undefined): void;
  onCancel(): void;
}

export function InputForm({ input, texts, onTexts, isDisabled, onApprove, onCancel }: InputFormProps) {
  const [wrong, setWrong] = useState<{ readonly name: string; readonly problem: string }>();
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    form.current?.querySelector<HTMLElement>("input, textarea")?.focus();
  }, []);
  const save = (event: FormEvent) => {
    event.preventDefault();
    const read = readFields(input, texts);
    setWrong(read.ok ? undefined : read);
    if (read.ok) onApprove(read.isChanged ? { input: read.input } : undefined);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape") return;
    // The page's own Escape stops the answer.
    event.stopPropagation();
    onCancel();
  };
  return (
    <form className="think-input-form" ref={form} onSubmit={save} onKeyDown={onKeyDown} aria-label="Changed input">
      {fieldsOf(input).map((field) => (
        <ChangedField
          key={field.name}
          field={field}
          text={texts.get(field.name) ?? field.text}
          problem={wrong?.name === field.name ? wrong.problem : undefined}
          onText={(text) => onTexts(new Map(texts).set(field.name, text))}
        />
      ))}
      <div className="think-approval-actions">
        <button type="submit" className="think-solid-button" disabled={isDisabled}>
          Approve with changes
        </button>
        <button type="button" className="think-line-button" onClick={onCancel}>
          Cancel changes
        </button>
      </div>
    </form>
  );
}

interface ChangedFieldProps {
  readonly field: InputField;
  readonly text: string;
  readonly problem: string | undefined;
  onText(text: string): void;
}

function ChangedField({ field: { name, kind }, text, problem, onText }: ChangedFieldProps) {
  const id = useId();
  const shared = {
    id,
    "aria-invalid": problem !== undefined || undefined,
    "aria-describedby": problem === undefined ? undefined : `${id}-problem`
  };
  return (
    <div className="think-input-field">
      <label htmlFor={id}>{name === "" ? "Input" : name}</label>
      {kind === "yes-or-no" ? (
        <input
          {...shared}
          type="checkbox"
          checked={text === "true"}
          onChange={(event) => onText(String(event.target.checked))}
        />
      ) : kind === "number" ? (
        <input
          {...shared}
          className="think-text-field"
          inputMode="decimal"
          value={text}
          onChange={(event) => onText(event.target.value)}
        />
      ) : (
        <textarea
          {...shared}
          className="think-text-field"
          rows={Math.min(MOST_ROWS, text.split("\n").length)}
          value={text}
          onChange={(event) => onText(event.target.value)}
        />
      )}
      {problem !== undefined && (
        <p id={`${id}-problem`} className="think-tool-failure" role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}
