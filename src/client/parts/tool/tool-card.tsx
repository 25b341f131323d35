// One call of a tool: a line that says what and how far, and behind it everything that went in and came out.
import { Icon, type IconName } from "../page/icons.tsx";
import { ApprovalCard } from "./approval-card.tsx";
import { CodeCard } from "./code-card.tsx";
import { DiffView } from "./diff-view.tsx";
import { JsonView } from "./json-view.tsx";
import { isProgram } from "./program-part.ts";
import { RunCards } from "./run-card.tsx";
import {
  failureOf,
  getToolName,
  getToolState,
  inputLine,
  isActivation,
  progressOf,
  skillOf,
  stateWord,
  withDiff,
  type ToolCallState,
  type ToolPart
} from "./tool-part.ts";

const ICONS: Readonly<Partial<Record<ToolCallState, IconName>>> = {
  done: "check",
  failed: "warning",
  waiting: "hand",
  refused: "refuse"
};

/**
 * A tool call with its state, input and output, the question it asks, and what its program or sub-agents do.
 *
 * @example
 * {message.parts.filter(isToolPart).map((part) => <ToolCard key={part.toolCallId} part={part} />)}
 */
export function ToolCard({ part }: { part: ToolPart }) {
  const name = getToolName(part);
  const state = getToolState(part);
  const failure = failureOf(part);
  const progress = progressOf(part);
  return (
    <div
      role="group"
      aria-label={`Tool ${name}`}
      className="think-part think-tool-card"
      data-state={part.state}
      data-tone={state}
    >
      <details>
        <ToolSummary part={part} name={name} state={state} />
        <ToolDetail part={part} failure={failure} />
      </details>
      {isProgram(part) && <CodeCard part={part} />}
      {progress !== undefined && <Progress value={progress} name={name} />}
      <RunCards callId={part.toolCallId} />
      {failure !== undefined && <p className="think-tool-failure">{failure}</p>}
      <ApprovalCard part={part} />
    </div>
  );
}

function ToolSummary({ part, name, state }: { part: ToolPart; name: string; state: ToolCallState }) {
  const skill = skillOf(part);
  const isActive = isActivation(part);
  const icon = ICONS[state];
  const shownElsewhere = [...(skill === undefined ? [] : ["name"]), ...(isProgram(part) ? ["code"] : [])];
  return (
    <summary>
      <span className="think-tool-mark">
        {icon === undefined ? <span className="think-spinner" /> : <Icon name={icon} size={16} />}
      </span>
      <span className="think-tool-name">{name}</span>
      {skill !== undefined && (
        <span className="think-skill-name" data-active={isActive || undefined}>
          <Icon name="book" size={14} />
          {skill}
        </span>
      )}
      <span className="think-tool-input">{inputLine(part.input, shownElsewhere)}</span>
      {/* The check mark says "done" to everybody who sees it. */}
      <span className={state === "done" && !isActive ? "think-only-heard" : "think-tool-word"}>{stateWord(part)}</span>
      <Icon name="chevron" size={16} />
    </summary>
  );
}

function ToolDetail({ part, failure }: { part: ToolPart; failure: string | undefined }) {
  const { diff, output } = withDiff(part.output);
  return (
    <div className="think-tool-detail">
      <JsonView label="Input" value={part.input ?? {}} />
      {diff !== undefined && <DiffView label="Change" diff={diff} />}
      {part.output !== undefined && <JsonView label="Output" value={output} />}
      {failure !== undefined && <JsonView label="Error" value={failure} />}
    </div>
  );
}

function Progress({ value, name }: { value: number; name: string }) {
  const percent = Math.round(value * 100);
  return (
    <div
      className="think-progress"
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
