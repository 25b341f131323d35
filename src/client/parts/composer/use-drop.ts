// Files that are dragged onto an element. Leaving for a child is not leaving, so the depth is counted.
import { useRef, useState, type DragEvent } from "react";

/**
 * Takes files that are dragged onto an element.
 *
 * @example
 * const { isOver, handlers } = useDrop((files) => upload(files));
 * return <div {...handlers}>{isOver ? "Drop here" : "Files"}</div>;
 */
export function useDrop(onFiles: (files: File[]) => void) {
  const depth = useRef(0);
  const [isOver, setOver] = useState(false);
  const hasFiles = (event: DragEvent) => event.dataTransfer.types.includes("Files");
  const enter = (by: 1 | -1) => (event: DragEvent) => {
    if (!hasFiles(event)) return;
    depth.current = Math.max(0, depth.current + by);
    setOver(depth.current > 0);
  };
  return {
    isOver,
    handlers: {
      onDragEnter: enter(1),
      onDragLeave: enter(-1),
      onDragOver: (event: DragEvent) => {
        if (hasFiles(event)) event.preventDefault();
      },
      onDrop: (event: DragEvent) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        depth.current = 0;
        setOver(false);
        onFiles([...event.dataTransfer.files]);
      }
    }
  };
}
