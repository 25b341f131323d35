// The end of a turn in which a call was parked: one more step in which the model may say so, without tools, and then the
// turn is over. The decision may take days.
import type { ModelMessage } from "ai";
import type { StepStart } from "../model/index.ts";
import type { TurnPart } from "./feature.ts";

/** `isPaused` recognises the outputs of the feature's own calls that wait. */
export function endingInPause(
  isPaused: (output: unknown) => boolean
): Required<Pick<TurnPart, "beforeStep" | "stopWhen">> {
  const hasPaused = (step: { readonly toolResults: readonly { readonly output?: unknown }[] } | undefined) =>
    step?.toolResults.some(({ output }) => isPaused(output)) ?? false;
  const endsInPause = ({ steps, messages }: StepStart): boolean => {
    if (steps.length > 0) return hasPaused(steps.at(-1));
    // The process died after the step: another attempt goes on from its results.
    const last: ModelMessage | undefined = messages.at(-1);
    if (last?.role !== "tool") return false;
    return last.content.some(
      (part) => part.type === "tool-result" && part.output.type === "json" && isPaused(part.output.value)
    );
  };
  return {
    beforeStep: (event) => (endsInPause(event) ? { activeTools: [], toolChoice: "none" as const } : undefined),
    stopWhen: ({ steps }) => hasPaused(steps.at(-2))
  };
}
