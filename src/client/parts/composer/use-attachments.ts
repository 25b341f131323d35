// The pictures that go with the next message, from wherever they come, and why one of them was not taken.
import { useCallback, useState } from "react";
import { IMAGES_PER_MESSAGE, readImage, type AttachedImage } from "./read-image.ts";

export interface Attachments {
  readonly images: readonly AttachedImage[];
  readonly problem: string | undefined;
  add(files: Iterable<File>): Promise<void>;
  remove(id: string): void;
  clear(): void;
}

export function useAttachments(): Attachments {
  const [images, setImages] = useState<readonly AttachedImage[]>([]);
  const [problem, setProblem] = useState<string>();
  const add = useCallback(async (files: Iterable<File>) => {
    setProblem(undefined);
    for (const file of files) {
      const read = await readImage(file);
      if (!read.ok) setProblem(read.why);
      else
        setImages((before) => {
          if (before.length < IMAGES_PER_MESSAGE) return [...before, read.image];
          setProblem(`A message takes at most ${IMAGES_PER_MESSAGE} pictures.`);
          return before;
        });
    }
  }, []);
  const remove = useCallback((id: string) => {
    setProblem(undefined);
    setImages((before) => before.filter((image) => image.id !== id));
  }, []);
  const clear = useCallback(() => {
    setProblem(undefined);
    setImages([]);
  }, []);
  return { images, problem, add, remove, clear };
}
