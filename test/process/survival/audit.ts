// Judges the books of an agent that was killed again and again. Everything accepted must have happened or have been
// reported; anything that happened twice must be explained by an interruption the agent reported.
import { type Books, type FiberBook, ONE_SHOTS, QUEUE_ITEMS, STEPS } from "./books.ts";

export interface Audit {
  /** What should not be. Empty when nothing was lost, invented or left behind. */
  problems: string[];
  /** Fibers found interrupted. */
  interrupted: number;
  /** Calls of the recovery hook; more than `interrupted` if a hook was killed too. */
  recoveries: number;
  /** Work that was started again after being cut off, and effects that happened again for the same reason. */
  repeatedWork: number;
  repeatedEffects: number;
}

export function workKeys(batch: number): string[] {
  return [
    ...Array.from({ length: ONE_SHOTS }, (_, index) => `one-shot-${batch}-${index}`),
    ...Array.from({ length: QUEUE_ITEMS }, (_, index) => `queued-${batch}-${index}`)
  ];
}

export function jobKeys(batch: number): string[] {
  return [`resume-${batch}`, `settle-${batch}`];
}

export function audit(books: Books, batches: number, kills: number): Audit {
  const problems: string[] = [];
  let repeatedWork = 0;
  for (let batch = 1; batch <= batches; batch += 1) {
    for (const key of [...workKeys(batch), ...jobKeys(batch)]) {
      if (!books.accepted.includes(key)) problems.push(`${key} was not accepted`);
    }
    for (const key of workKeys(batch)) {
      const { began, ended } = books.work.find((entry) => entry.key === key) ?? { began: 0, ended: 0 };
      if (ended < 1) problems.push(`${key} never ended`);
      if (began - 1 > kills) problems.push(`${key} began ${began} times with ${kills} kills`);
      repeatedWork += Math.max(0, began - 1);
    }
    problems.push(...auditResumed(books, `resume-${batch}`), ...auditSettled(books, `settle-${batch}`));
  }
  for (const key of books.queued) problems.push(`${key} is still queued`);
  for (const type of books.schedules) problems.push(`a schedule (${type}) is still stored`);
  for (const { fiberId } of books.reports) {
    if (!books.fibers.some((fiber) => fiber.fiberId === fiberId))
      problems.push(`${fiberId} was reported, but has no record`);
  }
  return {
    problems,
    interrupted: books.reports.length,
    recoveries: books.reports.reduce((sum, { times }) => sum + times, 0),
    repeatedWork,
    repeatedEffects: books.effects.reduce((sum, { times }) => sum + times - 1, 0)
  };
}

/** A job that goes on in a new fiber: all but the last are interrupted and reported, the last is completed. */
function auditResumed(books: Books, job: string): string[] {
  const problems: string[] = [];
  const repeats = new Map<number, number>();
  let fiberId = job;
  let fiber = find(books, fiberId);
  for (; fiber?.status === "interrupted"; fiberId += "+", fiber = find(books, fiberId)) {
    problems.push(...auditReport(books, fiber));
    repeats.set(fiber.done + 1, (repeats.get(fiber.done + 1) ?? 0) + 1);
  }
  if (fiber?.status !== "completed" || fiber.done !== STEPS) {
    problems.push(`${fiberId} is ${fiber ? `${fiber.status} after step ${fiber.done}` : "gone"}`);
  }
  if (find(books, `${fiberId}+`)) problems.push(`${fiberId} is completed and was continued`);
  for (let step = 1; step <= STEPS; step += 1) {
    const times = effectTimes(books, job, step);
    const allowed = 1 + (repeats.get(step) ?? 0);
    if (times < 1 || times > allowed)
      problems.push(`${job}/${step} happened ${times} times, explained are 1 to ${allowed}`);
  }
  return problems;
}

/** A job that is given up when it is cut off: no effect happens twice, and the record says how far it came. */
function auditSettled(books: Books, job: string): string[] {
  const fiber = find(books, job);
  if (!fiber) return [`${job} has no record`];
  const problems: string[] = [];
  if (fiber.status === "error") {
    problems.push(...auditReport(books, fiber));
    if (fiber.error !== `cut off after step ${fiber.done}`) problems.push(`${job} ended with "${fiber.error}"`);
  } else if (fiber.status !== "completed" || fiber.done !== STEPS) {
    problems.push(`${job} is ${fiber.status} after step ${fiber.done}`);
  } else if (books.reports.some(({ fiberId }) => fiberId === job)) {
    problems.push(`${job} is completed and was reported as interrupted`);
  }
  for (let step = 1; step <= STEPS; step += 1) {
    const times = effectTimes(books, job, step);
    // The step after the last checkpoint may have happened before the kill, or not.
    const fits = step <= fiber.done ? times === 1 : step === fiber.done + 1 ? times <= 1 : times === 0;
    if (!fits) problems.push(`${job}/${step} happened ${times} times, the record says ${fiber.done} steps`);
  }
  return problems;
}

function auditReport(books: Books, fiber: FiberBook): string[] {
  const report = books.reports.find(({ fiberId }) => fiberId === fiber.fiberId);
  if (!report) return [`${fiber.fiberId} is ${fiber.status} and recovery was never told`];
  if (report.done !== fiber.done)
    return [`${fiber.fiberId}: recovery was told step ${report.done}, stored is ${fiber.done}`];
  return [];
}

function find(books: Books, fiberId: string): FiberBook | undefined {
  return books.fibers.find((fiber) => fiber.fiberId === fiberId);
}

function effectTimes(books: Books, job: string, step: number): number {
  return books.effects.find((effect) => effect.step === `${job}/${step}`)?.times ?? 0;
}
