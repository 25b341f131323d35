// Code with its language, its colours and a button that copies it.
import { Icon } from "../page/icons.tsx";
import { useCopy } from "../page/copy-button.tsx";
import { useHighlight } from "./use-highlight.ts";

export function CodeBlock({ code, language }: { code: string; language: string | undefined }) {
  const { isCopied, copy } = useCopy();
  const lines = useHighlight(code, language);
  return (
    <figure className="think-code-block">
      <figcaption>
        <span>{language || "text"}</span>
        <button type="button" className="think-quiet-button" aria-label="Copy code" onClick={() => copy(code)}>
          <Icon name={isCopied ? "check" : "copy"} size={15} />
          <span aria-hidden="true">{isCopied ? "Copied" : "Copy"}</span>
        </button>
      </figcaption>
      <pre tabIndex={0} aria-label={`Code${language ? ` in ${language}` : ""}`}>
        <code>
          {lines === undefined
            ? code
            : lines.map((tokens, line) => (
                <span key={line}>
                  {tokens.map(({ kind, text }, index) => (
                    <span key={index} data-token={kind}>
                      {text}
                    </span>
                  ))}
                  {line < lines.length - 1 && "\n"}
                </span>
              ))}
        </code>
      </pre>
    </figure>
  );
}
