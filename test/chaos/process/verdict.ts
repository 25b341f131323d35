// What must be the same whether or not the process was killed during a round. Pure; each finding is a readable sentence.
import { isDeepStrictEqual } from "node:util";
import { maskInterrupted } from "../../../src/testing/chaos/normal-form.ts";
import type { RoundRecord } from "./round.ts";

/** Everything in which a round with kills differs from the one without. */
export function judge(expected: RoundRecord, actual: RoundRecord): string[] {
  return [
    ...actual.problems,
    ...judgeSteps(expected, actual),
    ...judgeTurns(expected, actual),
    ...judgeEffects(expected, actual)
  ];
}

function judgeSteps(expected: RoundRecord, actual: RoundRecord): string[] {
  for (const [index, { name, messages }] of expected.steps.entries()) {
    const step = actual.steps[index];
    if (step === undefined) return [`the conversation ended before ${name}`];
    const wanted = maskInterrupted(messages, step.messages);
    if (isDeepStrictEqual(wanted, step.messages)) continue;
    const at = wanted.findIndex((message, place) => !isDeepStrictEqual(message, step.messages[place]));
    const place = at < 0 ? wanted.length : at;
    const [should, is] = [JSON.stringify(wanted[place]), JSON.stringify(step.messages[place])];
    return [`after ${name}, message ${place + 1} should be ${should} and is ${is}`];
  }
  return [];
}

function judgeTurns(expected: RoundRecord, actual: RoundRecord): string[] {
  const many = actual.turns.filter((outcomes) => outcomes.length !== 1);
  if (many.length > 0) return [`turns have these outcomes instead of one: ${JSON.stringify(many)}`];
  const [wanted, found] = [expected, actual].map(({ turns }) => turns.flat().join(", "));
  return wanted === found ? [] : [`the turns should end ${wanted} and end ${found}`];
}

/** No call runs twice; one that is shown with its own outcome ran once; one that did not run is shown as cut off. */
function judgeEffects(expected: RoundRecord, actual: RoundRecord): string[] {
  const findings = actual.effects.flatMap(({ callId, tool, began, ended }) => {
    if (began !== 1) return [`${tool} ${callId} ran ${began} times`];
    if (actual.finished.has(callId) && ended !== 1) return [`${tool} ${callId} has a result and never ended`];
    const isShown = actual.finished.has(callId) || actual.cutOff.has(callId);
    return isShown ? [] : [`${tool} ${callId} ran and is not shown`];
  });
  const tools = new Set(expected.effects.map(({ tool }) => tool));
  const ran = new Set(actual.effects.map(({ callId }) => callId));
  for (const [callId, tool] of actual.finished) {
    if (tools.has(tool) && !ran.has(callId)) findings.push(`${tool} ${callId} has a result and never ran`);
  }
  for (const tool of tools) {
    const count = (record: RoundRecord) => record.effects.filter((effect) => effect.tool === tool).length;
    if (count(actual) > count(expected)) findings.push(`${tool} ran ${count(actual)} times in all`);
  }
  return findings;
}
