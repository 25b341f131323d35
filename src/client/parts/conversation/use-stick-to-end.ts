// Keeps the end of a growing text in view, but only for a reader who is there: a user who scrolled up to read is left
// alone until they come back.
import { useCallback, useEffect, useRef, useState, type RefObject } from "react";

/** A reader this close to the end counts as being there. */
const NEAR_END_PX = 48;

export interface StickToEnd {
  readonly scrollerRef: RefObject<HTMLDivElement | null>;
  readonly contentRef: RefObject<HTMLDivElement | null>;
  readonly isAtEnd: boolean;
  jumpToEnd(behavior?: ScrollBehavior): void;
}

/**
 * Keeps the end of a scroller in view while it grows. Without messages there is no end to be at: what is shown then is read
 * from its beginning.
 *
 * @example
 * const { scrollerRef, contentRef } = useStickToEnd(lines.length > 0);
 */
export function useStickToEnd(hasMessages: boolean): StickToEnd {
  const scrollerRef = useRef<HTMLDivElement>(null);
  const contentRef = useRef<HTMLDivElement>(null);
  const sticks = useRef(true);
  const mayFollow = useRef(hasMessages);
  useEffect(() => {
    mayFollow.current = hasMessages;
  }, [hasMessages]);
  const [isAtEnd, setAtEnd] = useState(true);

  const jumpToEnd = useCallback((behavior: ScrollBehavior = "instant") => {
    sticks.current = true;
    const scroller = scrollerRef.current;
    scroller?.scrollTo({ top: scroller.scrollHeight, behavior });
  }, []);

  useEffect(() => {
    const scroller = scrollerRef.current;
    const content = contentRef.current;
    if (scroller === null || content === null) return;
    let lastTop = scroller.scrollTop;
    const look = () => {
      const distance = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight;
      // Growth makes the distance larger without anybody scrolling; only a way up is a reader's wish.
      if (distance <= NEAR_END_PX) sticks.current = true;
      else if (scroller.scrollTop < lastTop) sticks.current = false;
      lastTop = scroller.scrollTop;
      setAtEnd(sticks.current || distance <= NEAR_END_PX);
    };
    const follow = new ResizeObserver(() => {
      if (sticks.current && mayFollow.current) scroller.scrollTop = scroller.scrollHeight;
      look();
    });
    follow.observe(content);
    follow.observe(scroller);
    scroller.addEventListener("scroll", look, { passive: true });
    return () => {
      follow.disconnect();
      scroller.removeEventListener("scroll", look);
    };
  }, []);

  return { scrollerRef, contentRef, isAtEnd, jumpToEnd };
}
