// Questions that more people may decide after a time. When that is, is stored with the question; who may decide then is read
// from the class, like the rest of its rule. Pure.
import type { Approver, ApproversRule, People, Question } from "../../feature/approval-contract.ts";

const UNIT_MS = { minute: 60_000, hour: 3_600_000, day: 24 * 3_600_000 };
const MAX_MS = 366 * UNIT_MS.day;
const TIME = /^([1-9]\d{0,8}) (minute|hour|day)s?$/;

/** Reads "4 hours". Undefined: it is no such text, or longer than a year. */
export function readEscalationTime(text: unknown): number | undefined {
  const [, count, unit] = typeof text === "string" ? (TIME.exec(text) ?? []) : [];
  // The expression has no other units.
  const ms = Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS];
  return ms <= MAX_MS ? ms : undefined;
}

/** The question with what it says of its escalation. Without a rule for it there is none. */
export function withEscalation(question: Question, rule: ApproversRule | undefined, now: number): Question {
  const { escalatesAt: at } = question;
  if (at === undefined || !rule?.escalate) return question;
  const { to } = rule.escalate;
  return { ...question, escalation: { at, isReached: at <= now, ...(typeof to !== "function" && { to }) } };
}

/** The rule as it holds for the question now. */
export function ruleNow(rule: ApproversRule | undefined, { escalation }: Question): ApproversRule | undefined {
  if (!rule?.escalate || !escalation?.isReached) return rule;
  const { required, from } = rule;
  const { to, required: requiredThen = required } = rule.escalate;
  // Without a list everyone may decide before, too.
  const isEither = (by: string, approver: Approver) => isAmong(from, by, approver) || isAmong(to, by, approver);
  return {
    ...(requiredThen !== undefined && { required: requiredThen }),
    ...(from !== undefined && { from: isEither })
  };
}

/** Whether a person is one of these; everyone is, if there is no list. */
export function isAmong(people: People | undefined, by: string, approver: Approver): boolean {
  return typeof people === "function" ? people(by, approver) === true : (people?.includes(by) ?? true);
}
