// What goes on without the page: tasks that run by the clock, and messages that were handed over. Both are the agent's,
// so they look the same after a reload.
import type { ClientSubmission } from "everthink/client";
import type { DemoTask } from "../../shared/demo.ts";
import { IconButton } from "everthink/react";
import type { Background } from "./use-background.ts";

const SHOWN = 4;

export function BackgroundSection({ background }: { background: Background }) {
  const { tasks, submissions } = background;
  const shown = submissions.slice(0, SHOWN);
  return (
    <section className="panel-section panel-background" aria-label="Background">
      <h3>
        Background
        {submissions.length > 0 && <span className="panel-total">{openText(submissions)}</span>}
      </h3>
      <ul className="background-list" aria-label="Tasks">
        {tasks.map((task) => (
          <TaskRow key={task.taskId} task={task} background={background} />
        ))}
      </ul>
      {shown.length > 0 && (
        <ol className="background-list" aria-label="Handed over, newest first">
          {shown.map((submission) => (
            <SubmissionRow key={submission.submissionId} submission={submission} onCancel={background.cancel} />
          ))}
        </ol>
      )}
    </section>
  );
}

function TaskRow({ task, background }: { task: DemoTask; background: Background }) {
  const { taskId, title, isOn } = task;
  return (
    <li>
      <span className="tick" data-on={isOn || undefined} aria-hidden="true" />
      <span className="background-title">{title}</span>
      <span className="background-actions">
        <button type="button" className="think-quiet-button" onClick={() => background.run(taskId)}>
          Run now
        </button>
        <button type="button" className="think-quiet-button" onClick={() => background.set(taskId, !isOn)}>
          {isOn ? "Pause" : "Start"}
        </button>
      </span>
      <span className="background-detail">{taskText(task)}</span>
    </li>
  );
}

interface SubmissionRowProps {
  submission: ClientSubmission;
  onCancel(submissionId: string): void;
}

function SubmissionRow({ submission, onCancel }: SubmissionRowProps) {
  const { submissionId, status, createdAt, error } = submission;
  const isOpen = status === "pending" || status === "running";
  return (
    <li data-status={status}>
      <span className="tick" data-on={isOpen || undefined} aria-hidden="true" />
      <span className="background-title">
        {STATUS_TEXT[status]}
        <time className="background-detail"> {timeText(createdAt)}</time>
      </span>
      {isOpen && (
        <span className="background-actions">
          <IconButton icon="close" size={14} label="Cancel" onClick={() => onCancel(submissionId)} />
        </span>
      )}
      {status === "error" && error !== undefined && <span className="background-detail">{error}</span>}
    </li>
  );
}

const STATUS_TEXT: Readonly<Record<ClientSubmission["status"], string>> = {
  pending: "Waits",
  running: "Running",
  completed: "Done",
  aborted: "Cancelled",
  skipped: "Skipped",
  error: "Failed"
};

const OUTCOME_TEXT: Readonly<Record<NonNullable<DemoTask["lastOutcome"]>, string>> = {
  submitted: "handed over",
  handled: "done",
  failed: "failed",
  skipped: "left out"
};

function taskText({ when, isOn, nextRunAt, lastRunAt, lastOutcome }: DemoTask): string {
  if (!isOn) return `${when} · paused`;
  const next = nextRunAt === undefined ? "about to be scheduled" : `next ${timeText(nextRunAt)}`;
  const last =
    lastRunAt === undefined || lastOutcome === undefined
      ? []
      : [`last ${timeText(lastRunAt)}, ${OUTCOME_TEXT[lastOutcome]}`];
  return [when, next, ...last].join(" · ");
}

function openText(submissions: readonly ClientSubmission[]): string {
  const open = submissions.filter(({ status }) => status === "pending" || status === "running").length;
  return open === 0 ? "all done" : `${open} open`;
}

const today = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const otherDay = new Intl.DateTimeFormat(undefined, { weekday: "short", hour: "2-digit", minute: "2-digit" });

/** In the time of the person who looks. */
function timeText(at: number): string {
  const isToday = new Date(at).toDateString() === new Date().toDateString();
  return (isToday ? today : otherDay).format(at);
}
