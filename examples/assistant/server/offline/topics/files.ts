// Files: writing, correcting, searching and sorting one with the tools every agent has; running a script; listing.
import { fieldOf, textIn, type Outcome } from "../outcome.ts";
import type { Step } from "../plan.ts";
import { outcomeOfCall, trouble, type Asked, type Topic } from "../topic.ts";

const LIST_PATH = "/voyage/packing.md";
const SORTED_PATH = "/voyage/sorted.txt";
const PACKING = `# Packing list

- matches
- lamp oil, one can
- oilskins
- chart of the skerries
- bread
`;
const SCRIPT = `grep '^- ' ${LIST_PATH} | sort > ${SORTED_PATH}
wc -l < ${SORTED_PATH}`;

const WORK = /\bpacking list\b|\b(write|make|create)\b.{0,40}\bfiles?\b/i;
const RUN = /\b(?:run|bash)\b[^`]*`([^`]+)`/i;
const LOOK = /\b(list|show|which|what|find)\b.{0,30}\bfiles\b/i;

/** A step with what becomes of the plan once its result is there. */
interface Planned {
  readonly step: Step & Required<Pick<Step, "call">>;
  readonly failed: string;
}

export const fileWork: Topic = {
  isAbout: ({ question }) => WORK.test(question),
  plan(asked) {
    const plan: Planned[] = [
      called("I write the list.", "write", { path: LIST_PATH, content: PACKING }),
      called("One can is not enough.", "edit", {
        path: LIST_PATH,
        old_string: "lamp oil, one can",
        new_string: "lamp oil, two cans"
      }),
      called("Now I search it.", "grep", { query: "oil", include: "/voyage/**" }),
      ...(asked.tools.has("bash") ? [called("And sort it.", "bash", { script: SCRIPT })] : [])
    ];
    return follow(asked, plan, () => ({ text: summary(asked) }));
  }
};

export const script: Topic = {
  isAbout: ({ question }) => RUN.test(question),
  plan(asked) {
    const words = RUN.exec(asked.question)?.[1] ?? "";
    if (!asked.tools.has("bash")) return [{ text: "There is no bash here: the package just-bash is not installed." }];
    return follow(asked, [called("I run it.", "bash", { script: words })], () => ({ text: printed(asked) }));
  }
};

export const listFiles: Topic = {
  isAbout: ({ question }) => LOOK.test(question),
  plan: (asked) =>
    follow(asked, [called("I look.", "find", { pattern: "**/*" })], (value) => {
      const files = fieldOf(value, "files");
      const paths = Array.isArray(files) ? files.map((path) => `- \`${String(path)}\``) : [];
      return { text: paths.length === 0 ? "There are no files yet." : `These are the files:\n\n${paths.join("\n")}` };
    })
};

function called(text: string, tool: string, input: object): Planned {
  return { step: { text, call: { tool, input } }, failed: `The tool ${tool} failed` };
}

/** One call after the other, each when the one before it is done, then the last words. */
function follow(asked: Asked, plan: readonly Planned[], last: (value: unknown) => Step): Step[] {
  const steps: Step[] = [];
  let value: unknown;
  for (const { step, failed } of plan) {
    steps.push(step);
    const outcome = outcomeOfCall(asked, step.call.tool);
    if (outcome === undefined || outcome.kind === "waiting") return steps;
    const problem = problemOf(outcome);
    // A crash may have come between the change and its result: made again, an edit finds nothing to change.
    if (step.call.tool === "edit" && problem?.kind === "failed") continue;
    if (problem !== undefined) return [...steps, { text: trouble(failed, problem) }];
    value = valueOf(outcome);
  }
  return [...steps, last(value)];
}

/** The file tools tell of what they could not do in their result. */
function problemOf(outcome: Outcome): Exclude<Outcome, { kind: "done" | "waiting" }> | undefined {
  if (outcome.kind === "waiting") return undefined;
  if (outcome.kind !== "done") return outcome;
  const message = textIn(outcome.value, "error");
  return message === undefined ? undefined : { kind: "failed", message };
}

function valueOf(outcome: Outcome): unknown {
  return outcome.kind === "done" ? outcome.value : undefined;
}

function summary(asked: Asked): string {
  const found = fieldOf(outcomeValue(asked, "grep"), "totalMatches");
  const lines = textIn(outcomeValue(asked, "bash"), "stdout")?.trim();
  const sorted = lines === undefined ? "" : ` Sorted, it has **${lines}** lines and is in \`${SORTED_PATH}\`.`;
  return `The list is in \`${LIST_PATH}\`; ${String(found ?? 0)} lines of it are about oil.${sorted} The panel *Files* shows both, and what was changed.`;
}

function printed(asked: Asked): string {
  const value = outcomeValue(asked, "bash");
  const output = [textIn(value, "stdout"), textIn(value, "stderr")].filter(Boolean).join("").trimEnd();
  const code = String(fieldOf(value, "exitCode") ?? "?");
  return output === "" ? `It ended with code ${code} and said nothing.` : `Code ${code}:\n\n\`\`\`\n${output}\n\`\`\``;
}

function outcomeValue(asked: Asked, tool: string): unknown {
  const outcome = outcomeOfCall(asked, tool);
  return outcome === undefined ? undefined : valueOf(outcome);
}
