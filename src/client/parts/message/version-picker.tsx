// "‹ 2 of 3 ›": steps through the versions of a message. Versions cannot be changed while an answer is being written.
import { IconButton } from "../page/icon-button.tsx";

interface VersionPickerProps {
  messageId: string;
  versions: readonly string[];
  isDisabled: boolean;
  onSelect(messageId: string): void;
}

export function VersionPicker({ messageId, versions, isDisabled, onSelect }: VersionPickerProps) {
  const place = versions.indexOf(messageId);
  if (versions.length < 2 || place < 0) return null;
  const step = (by: number) => {
    const target = versions[place + by];
    if (target !== undefined) onSelect(target);
  };
  return (
    <span className="think-versions">
      <IconButton
        icon="left"
        size={16}
        label="Previous version"
        disabled={isDisabled || place === 0}
        onClick={() => step(-1)}
      />
      <span>
        {place + 1} of {versions.length}
      </span>
      <IconButton
        icon="right"
        size={16}
        label="Next version"
        disabled={isDisabled || place === versions.length - 1}
        onClick={() => step(1)}
      />
    </span>
  );
}
