// A value as people read it: text as text, everything else as indented JSON.

const SHOWN_CHARACTERS = 20_000;

export function JsonView({ label, value }: { label: string; value: unknown }) {
  const text = typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "nothing");
  const isCut = text.length > SHOWN_CHARACTERS;
  return (
    <div className="think-json-view">
      <span className="think-label">{label}</span>
      <pre tabIndex={0} aria-label={label}>
        {isCut ? `${text.slice(0, SHOWN_CHARACTERS)} …` : text}
      </pre>
    </div>
  );
}
