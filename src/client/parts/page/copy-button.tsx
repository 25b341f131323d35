// Puts a text on the clipboard, and says so for a moment.
import { useEffect, useState } from "react";
import { IconButton } from "./icon-button.tsx";

const COPIED_FOR_MS = 1_600;

/** Whether a text was copied a moment ago, and how to copy one. */
export function useCopy(): { isCopied: boolean; copy(text: string): void } {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), COPIED_FOR_MS);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = async (text: string) => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
    } catch {
      // The browser forbids it; the text can still be selected.
    }
  };
  return { isCopied, copy: (text) => void copy(text) };
}

export function CopyButton({ text, label, className }: { text: string; label: string; className?: string }) {
  const { isCopied, copy } = useCopy();
  return (
    <IconButton
      icon={isCopied ? "check" : "copy"}
      size={16}
      label={isCopied ? "Copied" : label}
      {...(className !== undefined && { className })}
      onClick={() => copy(text)}
    />
  );
}
