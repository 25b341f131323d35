// What an extension that waits for an approval may do, and what it is: its source, or how it differs from the version before.
import { extensionReview, type ReviewLine } from "./extension-part.ts";
import type { ToolPart } from "./tool-part.ts";

const SIGNS: Readonly<Record<ReviewLine["kind"], string>> = { added: "+ ", removed: "- ", same: "  ", skipped: "… " };

export function ExtensionReview({ part }: { part: ToolPart }) {
  const review = extensionReview(part);
  if (review === undefined) return null;
  const { tools, permissions, gained, lost, replaced, lines } = review;
  return (
    <div className="think-extension-review">
      <p className="think-approval-note">
        Gives the model <strong>{tools.join(", ")}</strong>, in a sandbox.
      </p>
      {permissions.length === 0 ? (
        <p className="think-approval-note">It reaches no files, no network and nothing of this conversation.</p>
      ) : (
        <ul aria-label="What it may do">
          {permissions.map((one) => (
            <li key={one} data-new={gained.includes(one) || undefined}>
              {one}
              {gained.includes(one) && <span className="think-risk">new</span>}
            </li>
          ))}
        </ul>
      )}
      {lost.length > 0 && <p className="think-approval-note">No longer: {lost.join(", ")}.</p>}
      <pre
        className="think-diff"
        tabIndex={0}
        aria-label={replaced === undefined ? "Source" : `Changes since ${replaced}`}
      >
        {lines.map(({ kind, text }, index) => (
          <span key={index} data-kind={kind === "skipped" ? "place" : kind}>
            {replaced === undefined ? text : SIGNS[kind] + text}
            {"\n"}
          </span>
        ))}
      </pre>
    </div>
  );
}
