// The report that follows when a human has decided over a parked action, perhaps days and many questions later. Each
// decision is reported once: what stands in the conversation already is not said again. Pure.
import type { AnswerPart, Call, Exchange } from "./conversation.ts";
import { trouble } from "./topic.ts";
import { publishedSentence } from "./topics/notes.ts";
import { CODE_TOOL, programSentence } from "./topics/program.ts";

/** Empty when all is told: a crash may come after the last word. */
export function decisionReport(exchanges: readonly Exchange[]): string {
  const parts = exchanges.flatMap(({ answer }) => answer);
  const told = parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  const report = unreported(decisions(parts), told).join(" ");
  // After a crash the beginning of the report is there already.
  const begun = parts.at(-1);
  return begun?.type === "text" && report.startsWith(begun.text) ? report.slice(begun.text.length) : report;
}

function decisions(parts: readonly AnswerPart[]): string[] {
  return parts.flatMap((part) => {
    if (part.type !== "call" || isOpen(part)) return [];
    if (part.tool === "publish_note") return [publishedSentence(part)];
    return part.tool === CODE_TOOL ? [decidedProgram(part)] : [];
  });
}

function decidedProgram({ outcome }: Call): string {
  if (outcome === undefined || outcome.kind === "waiting") return "";
  return outcome.kind === "done" ? programSentence(outcome.value) : trouble("The program did not end well", outcome);
}

function isOpen({ outcome }: Call): boolean {
  return outcome === undefined || outcome.kind === "waiting";
}

/** Two decisions may read the same; each needs its own sentence. */
function unreported(sentences: readonly string[], told: string): string[] {
  const seen = new Map<string, number>();
  return sentences.filter((sentence) => {
    const times = (seen.get(sentence) ?? 0) + 1;
    seen.set(sentence, times);
    return told.split(sentence).length - 1 < times;
  });
}
