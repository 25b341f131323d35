// Files of answers on their way to a provider: kept as blobs until they are sent, so that a restart sends them, too.
import type { BlobRef, Blobs } from "../../host/blobs.ts";
import type { ReplyFile } from "../channels/capability.ts";
import type { ChatPostable } from "./chat-adapter.ts";

/** A file as a reply's row names it. */
export interface KeptFile {
  readonly name: string;
  readonly mediaType: string;
  readonly blob: BlobRef;
}

export class Uploads {
  readonly #blobs: Blobs;

  constructor(blobs: Blobs) {
    this.#blobs = blobs;
  }

  /** Stores a file, in the transaction that adds the reply. */
  keep(key: string, { name, mediaType, bytes }: ReplyFile): KeptFile {
    return { name, mediaType, blob: this.#blobs.put(bytes, ownerOf(key)) };
  }

  readMessage({ name, mediaType, blob }: KeptFile): ChatPostable {
    const bytes = this.#blobs.read(blob);
    const data = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
    return { markdown: "", files: [{ data, filename: name, mimeType: mediaType }] };
  }

  /** Deletes the file of a reply that is over, however it ended. */
  drop(key: string): void {
    this.#blobs.release(ownerOf(key));
  }
}

function ownerOf(key: string): string {
  return `messenger-upload:${key}`;
}
