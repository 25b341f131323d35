// Code with its language and a button that copies it.
import { useEffect, useState } from "react";
import { Icon } from "../icons.tsx";

const COPIED_FOR_MS = 1_600;

export function CodeBlock({ code, language }: { code: string; language: string | undefined }) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), COPIED_FOR_MS);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(code);
      setCopied(true);
    } catch {
      // The browser forbids it; the code can still be selected.
    }
  };
  return (
    <figure className="code-block">
      <figcaption>
        <span>{language || "text"}</span>
        <button type="button" className="quiet-button" aria-label="Copy code" onClick={() => void copy()}>
          <Icon name={isCopied ? "check" : "copy"} size={15} />
          <span aria-hidden="true">{isCopied ? "Copied" : "Copy"}</span>
        </button>
      </figcaption>
      <pre tabIndex={0} aria-label={`Code${language ? ` in ${language}` : ""}`}>
        <code>{code}</code>
      </pre>
    </figure>
  );
}
