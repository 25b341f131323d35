// The pictures that wait to be sent, each with a way to take it back.
import { IconButton } from "../page/icon-button.tsx";
import type { AttachedImage } from "./read-image.ts";

export function Thumbnails({ images, onRemove }: { images: readonly AttachedImage[]; onRemove: (id: string) => void }) {
  if (images.length === 0) return null;
  return (
    <ul className="think-thumbnails" aria-label="Attached images">
      {images.map(({ id, url, filename }) => (
        <li key={id}>
          <img src={url} alt={filename} />
          <IconButton icon="close" size={12} label={`Remove ${filename}`} onClick={() => onRemove(id)} />
        </li>
      ))}
    </ul>
  );
}
