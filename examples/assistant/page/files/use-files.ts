// The files of a conversation: their list, read again after each change and each reconnection, and what a person puts
// there. Contents come and go over HTTP.
import { useCallback, useEffect, useRef, useState } from "react";
import type { FileListing, FilesNote } from "../../shared/demo.ts";

export interface FileChanges {
  /** Grows with each change. */
  readonly count: number;
  receive(this: void, text: string): void;
}

export function useFileChanges(): FileChanges {
  const [count, setCount] = useState(0);
  const receive = useCallback((text: string) => {
    if (isFilesNote(text)) setCount((before) => before + 1);
  }, []);
  return { count, receive };
}

const KIND: FilesNote["type"] = "files";

function isFilesNote(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && "type" in value && value.type === KIND;
  } catch {
    // Not JSON, so not a note.
    return false;
  }
}

interface FilesInit {
  readonly isConnected: boolean;
  readonly changes: number;
  readonly read: () => Promise<FileListing>;
}

/** Undefined until they were read once. */
export function useFiles({ isConnected, changes, read }: FilesInit): FileListing | undefined {
  const [listing, setListing] = useState<FileListing>();
  const newest = useRef(0);
  useEffect(() => {
    if (!isConnected) return;
    const reading = (newest.current += 1);
    read().then(
      // An answer that was overtaken by a later question is out of date.
      (found) => reading === newest.current && setListing(found),
      // The connection was lost: the list is read again when it is back.
      () => undefined
    );
  }, [isConnected, changes, read]);
  return listing;
}

export function fileAddress(conversationId: string, path: string): string {
  const segments = path.split("/").map(encodeURIComponent).join("/");
  return `/agents/assistant/${encodeURIComponent(conversationId)}/workspace${segments}`;
}

/** Why it was not taken; undefined when it was. */
export async function putFile(address: string, file: File): Promise<string | undefined> {
  try {
    const response = await fetch(address, { method: "PUT", body: file });
    return response.ok ? undefined : `${file.name} was not taken: ${await reasonIn(response)}`;
  } catch {
    return `${file.name} was not sent: the server cannot be reached.`;
  }
}

async function reasonIn(response: Response): Promise<string> {
  const answer: unknown = await response.json().catch(() => undefined);
  const error = typeof answer === "object" && answer !== null ? Reflect.get(answer, "error") : undefined;
  return typeof error === "string" ? error : response.statusText;
}
