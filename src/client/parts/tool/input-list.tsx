// What a call would run with, to its end: a person decides over what they have read. Programs and extensions show theirs.

export function InputList({ input }: { input: unknown }) {
  if (typeof input !== "object" || input === null) {
    return input === undefined ? null : <p className="think-input-value">{text(input)}</p>;
  }
  const entries = Object.entries(input);
  if (entries.length === 0) return null;
  return (
    <dl className="think-input-list" tabIndex={0} aria-label="Input">
      {entries.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd className="think-input-value">{text(value)}</dd>
        </div>
      ))}
    </dl>
  );
}

function text(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "nothing");
}
