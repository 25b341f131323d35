// What the model thought before it answered: open while it is being written, closed afterwards unless the reader
// decided otherwise.
import { useState } from "react";
import { Icon } from "../page/icons.tsx";
import { Markdown } from "../markdown/markdown.tsx";

export function Reasoning({ text, isGrowing }: { text: string; isGrowing: boolean }) {
  const [chosen, setChosen] = useState<boolean>();
  const isOpen = chosen ?? isGrowing;
  if (text.trim() === "" && !isGrowing) return null;
  return (
    <details
      className="think-reasoning"
      open={isOpen}
      onToggle={(event) => {
        if (event.currentTarget.open !== isOpen) setChosen(event.currentTarget.open);
      }}
    >
      <summary>
        Reasoning
        {isGrowing && <span className="think-shimmer"> in progress</span>}
        <Icon name="chevron" size={16} />
      </summary>
      <div className="think-reasoning-text">
        <Markdown text={text} isGrowing={isGrowing} />
      </div>
    </details>
  );
}
