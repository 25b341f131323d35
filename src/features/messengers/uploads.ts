// Files of answers on their way to a provider: kept as blobs until they are sent, so that a restart sends them, too.
import type { BlobRef, Blobs } from "../../host/blobs.ts";
import type { ReplyFile } from "../channels/capability.ts";
import type { ChatPostable } from "./chat-adapter.ts";

/** What a reply's row says of a file. */
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

  /** Part of the transaction that adds the reply. */
  keep(key: string, { name, mediaType, bytes }: ReplyFile): KeptFile {
    return { name, mediaType, blob: this.#blobs.put(bytes, owner(key)) };
  }

  message({ name, mediaType, blob }: KeptFile): ChatPostable {
    const bytes = this.#blobs.read(blob);
    const data = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
    return { markdown: "", files: [{ data, filename: name, mimeType: mediaType }] };
  }

  /** With the end of the reply, however it ended. */
  drop(key: string): void {
    this.#blobs.release(owner(key));
  }
}

function owner(key: string): string {
  return `messenger-upload:${key}`;
}
