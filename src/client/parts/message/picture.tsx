// A picture in a message. Only pictures that travel inside the message are shown; others are links.
const INLINE_PICTURE = /^data:image\/(?:png|jpeg|webp|gif);base64,/;

export function Picture({ url, mediaType, filename }: { url: string; mediaType: string; filename?: string }) {
  const name = filename ?? "Attached picture";
  if (INLINE_PICTURE.test(url)) return <img className="think-picture" src={url} alt={name} />;
  return (
    <span className="think-file-chip">
      {name} <small>{mediaType}</small>
    </span>
  );
}
