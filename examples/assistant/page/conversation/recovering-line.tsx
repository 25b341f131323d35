// What is happening to an answer that was interrupted, in the answer itself.
import type { Interruption } from "./use-interruption.ts";

const CAUSES: Readonly<Record<Interruption["cause"], string>> = {
  process: "The process died.",
  connection: "The connection broke."
};

export function RecoveringLine({ phase, cause }: Interruption) {
  return (
    <p className="recovering-line" data-recovering={phase}>
      <span className="lamp" aria-hidden="true" />
      {CAUSES[cause]} {phase === "cut" ? "Picking up where it stopped …" : "The answer goes on from where it stopped."}
    </p>
  );
}
