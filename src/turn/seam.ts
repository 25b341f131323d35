// Joins the stream of an attempt that goes on to what earlier attempts streamed, so that readers see one stream of one
// message. Text that was cut off goes on in the same part, if the model goes on with text; otherwise it is closed first.
import type { UIMessageChunk } from "ai";

/** Chunks in, the chunks to stream out. */
export type Seam = (chunk: UIMessageChunk) => readonly UIMessageChunk[];

/** The stream of an attempt with nothing before it. */
export const noSeam: Seam = (chunk) => [chunk];

/** The first stream of a turn that extends a stored answer: clients would take an id for a new message. */
export const extendingSeam: Seam = (chunk) => {
  if (chunk.type !== "start" || chunk.messageId === undefined) return [chunk];
  const { messageId: _dropped, ...rest } = chunk;
  return [rest];
};

/** `openTextId`: the text block that was cut off, by the id its chunks carry. */
export function seamAfter(openTextId: string | undefined): Seam {
  let isUndecided = openTextId !== undefined;
  let held: UIMessageChunk[] = [];
  /** The id under which the model continues the block. */
  let continuedAs: string | undefined;
  return (chunk) => {
    // The message has begun long ago.
    if (chunk.type === "start") return metadataOf(chunk);
    if (isUndecided && openTextId !== undefined) {
      if (chunk.type === "start-step") {
        held.push(chunk);
        return [];
      }
      isUndecided = false;
      if (chunk.type === "text-start") {
        continuedAs = chunk.id;
        return [];
      }
      const before = held;
      held = [];
      return [{ type: "text-end", id: openTextId }, ...before, chunk];
    }
    return [openTextId === undefined || continuedAs === undefined ? chunk : renamed(chunk, openTextId, continuedAs)];
  };
}

/** The two ids change places, so that a block of the model's own under the first cannot be taken for the continued one. */
function renamed(chunk: UIMessageChunk, first: string, second: string): UIMessageChunk {
  if (chunk.type !== "text-start" && chunk.type !== "text-delta" && chunk.type !== "text-end") return chunk;
  if (chunk.id !== first && chunk.id !== second) return chunk;
  return { ...chunk, id: chunk.id === first ? second : first };
}

function metadataOf(chunk: Extract<UIMessageChunk, { type: "start" }>): UIMessageChunk[] {
  if (chunk.messageMetadata === undefined) return [];
  return [{ type: "message-metadata", messageMetadata: chunk.messageMetadata }];
}
