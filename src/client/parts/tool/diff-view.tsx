// A unified diff as people read it. The signs stay: they tell the lines apart where colours do not.

const KINDS = new Map([
  ["+", "added"],
  ["-", "removed"],
  ["@", "place"]
]);

/**
 * A unified diff, line by line.
 *
 * @example
 * <DiffView label="Change" diff={output.diff} />
 */
export function DiffView({ diff, label }: { diff: string; label: string }) {
  // The first two lines name the file on either side.
  const lines = diff.trimEnd().split("\n").slice(2);
  return (
    <pre className="think-diff" tabIndex={0} aria-label={label}>
      {lines.map((line, index) => (
        <span key={index} data-kind={KINDS.get(line.charAt(0))}>
          {line}
          {"\n"}
        </span>
      ))}
    </pre>
  );
}
