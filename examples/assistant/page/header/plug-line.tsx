// The story of a pulled plug in one line: what has happened, after how many milliseconds, and what comes next.
import { useEffect, useState } from "react";
import { elapsedText } from "../amounts.ts";
import { Icon } from "everthink/react";
import { isOver, type PlugStory, stepsOf } from "./plug-story.ts";

const TICK_MS = 60;

export function PlugLine({ story }: { story: PlugStory }) {
  const over = isOver(story);
  const now = useNow(!over);
  if (story.refusedBecause !== undefined) {
    return (
      <p className="plug-line" data-plug="refused">
        {story.refusedBecause}
      </p>
    );
  }
  const steps = stepsOf(story);
  const current = steps.findIndex(({ afterMs }) => afterMs === undefined);
  return (
    <ol className="plug-line" data-plug={over ? "over" : "pulled"} aria-label="The plug was pulled">
      {steps.map(({ label, afterMs }, index) => (
        <li key={label} data-step={afterMs !== undefined ? "done" : index === current ? "now" : "next"}>
          <span className="plug-step-mark" aria-hidden="true">
            {afterMs !== undefined && <Icon name="check" size={12} />}
          </span>
          {label}
          <span className="plug-step-time">
            {afterMs !== undefined ? elapsedText(afterMs) : index === current ? elapsedText(now - story.pulledAt) : ""}
          </span>
        </li>
      ))}
    </ol>
  );
}

function useNow(isTicking: boolean): number {
  const [now, setNow] = useState(() => performance.now());
  useEffect(() => {
    if (!isTicking) return;
    const timer = setInterval(() => setNow(performance.now()), TICK_MS);
    return () => clearInterval(timer);
  }, [isTicking]);
  return now;
}
