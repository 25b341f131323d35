// One call of a tool: a line that says what and how far, and behind it everything that went in and came out.
import { CodeCard } from "../code/code-card.tsx";
import { isProgram } from "../code/program-part.ts";
import { DiffView } from "../files/diff-view.tsx";
import { Icon, type IconName } from "../icons.tsx";
import { RunCards } from "../team/run-card.tsx";
import { ApprovalCard } from "./approval-card.tsx";
import { JsonView } from "./json-view.tsx";
import {
  type CardTone,
  failureOf,
  inputLine,
  isActivation,
  isParked,
  progressOf,
  skillOf,
  toneOf,
  toolName,
  type ToolPart,
  withDiff
} from "./tool-part.ts";

const ICONS: Readonly<Record<Exclude<CardTone, "busy">, IconName>> = {
  done: "check",
  failed: "warning",
  waiting: "hand",
  refused: "refuse"
};

export function ToolCard({ part }: { part: ToolPart }) {
  const name = toolName(part);
  const { tone, word } = toneOf(part);
  const failure = failureOf(part);
  const progress = progressOf(part);
  const { diff, output } = withDiff(part.output);
  const skill = skillOf(part);
  const isActive = isActivation(part);
  const shownElsewhere = [...(skill === undefined ? [] : ["name"]), ...(isProgram(part) ? ["code"] : [])];
  const isAsking = part.state === "approval-requested" || isParked(part);
  return (
    <div role="group" aria-label={`Tool ${name}`} className="tool-card" data-state={part.state} data-tone={tone}>
      <details>
        <summary>
          <span className="tool-mark">
            {tone === "busy" ? <span className="spinner" /> : <Icon name={ICONS[tone]} size={16} />}
          </span>
          <span className="tool-name">{name}</span>
          {skill !== undefined && (
            <span className="skill-name" data-active={isActive || undefined}>
              <Icon name="book" size={14} />
              {skill}
            </span>
          )}
          <span className="tool-input">{inputLine(part.input, shownElsewhere)}</span>
          {/* The check mark says "done" to everybody who sees it. */}
          <span className={tone === "done" && !isActive ? "only-heard" : "tool-word"}>{word}</span>
          <Icon name="chevron" size={16} />
        </summary>
        <div className="tool-detail">
          <JsonView label="Input" value={part.input ?? {}} />
          {diff !== undefined && <DiffView label="Change" diff={diff} />}
          {part.output !== undefined && <JsonView label="Output" value={output} />}
          {failure !== undefined && <JsonView label="Error" value={failure} />}
        </div>
      </details>
      {isProgram(part) && <CodeCard part={part} />}
      {progress !== undefined && <Progress value={progress} name={name} />}
      <RunCards callId={part.toolCallId} />
      {failure !== undefined && <p className="tool-failure">{failure}</p>}
      {isAsking && <ApprovalCard part={part} />}
    </div>
  );
}

function Progress({ value, name }: { value: number; name: string }) {
  const percent = Math.round(value * 100);
  return (
    <div
      className="progress"
      role="progressbar"
      aria-label={`Progress of ${name}`}
      aria-valuenow={percent}
      aria-valuemin={0}
      aria-valuemax={100}
    >
      <span style={{ transform: `scaleX(${value})` }} />
    </div>
  );
}
