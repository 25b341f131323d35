// Pictures arrive, and it cannot see them.
import type { Picture } from "../conversation.ts";
import type { Topic } from "../topic.ts";

export const picture: Topic = {
  isAbout: ({ pictures }) => pictures.length > 0,
  plan: ({ pictures }) => [
    {
      text: `I got ${listed(pictures)}. The bytes arrived whole, but I am a script and cannot see what they show. A model that reads pictures could: set a key and ask again.`
    }
  ]
};

function listed(pictures: readonly Picture[]): string {
  const described = pictures.map(({ mediaType, sizeBytes }) =>
    sizeBytes === undefined ? mediaType : `${mediaType}, ${readableSize(sizeBytes)}`
  );
  if (described.length === 1) return `a picture (${described[0]})`;
  return `${described.length} pictures (${described.join("; ")})`;
}

function readableSize(bytes: number): string {
  return bytes < 1024 ? `${bytes} bytes` : `${Math.round(bytes / 1024)} KiB`;
}
