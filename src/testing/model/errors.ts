// What can go wrong with a script itself. All of these are mistakes in a test, so their messages show what the test
// author needs: the call number, what the user last said, what to change.
import { countText } from "../../util/counts.ts";
import { ThinkError } from "../../util/errors.ts";

const SHOWN_TEXT_LENGTH = 200;

/** The model was called more often than the script has steps. */
export class ScriptExhaustedError extends ThinkError {
  constructor(
    readonly callNumber: number,
    readonly stepCount: number,
    lastUserText: string
  ) {
    super({
      code: "script-exhausted",
      message:
        `Unexpected model call ${callNumber}: the script has ${countText(stepCount, "step")}. ` +
        `The last user text was ${JSON.stringify(shorten(lastUserText))}.`,
      hint: `Add a step for this call, or pass { onExhausted: "repeat-last" }. \`model.calls\` holds every prompt.`
    });
  }
}

/** The agent calls the model without end. */
export class ScriptRunawayError extends ThinkError {
  constructor(
    readonly callNumber: number,
    lastUserText: string
  ) {
    super({
      code: "script-runaway",
      message:
        `Model call ${callNumber} is over the limit of the script: the agent looks like it is in a loop. ` +
        `The last user text was ${JSON.stringify(shorten(lastUserText))}.`,
      hint: "Raise it with { maxCalls } if the test really needs that many calls."
    });
  }
}

/** The test ended before the script did. */
export class ScriptUnfinishedError extends ThinkError {
  constructor(
    readonly remaining: number,
    readonly callCount: number
  ) {
    super({
      code: "script-unfinished",
      message: `${countText(remaining, "step")} of the script were never asked for (${callCount} model calls were made).`,
      hint: "The agent stopped early, or the script has a step too many."
    });
  }
}

/** The script cannot be played as written. */
export class ScriptError extends ThinkError {
  constructor(message: string, hint?: string) {
    super({ code: "script-invalid", message, hint });
  }
}

function shorten(text: string): string {
  return text.length <= SHOWN_TEXT_LENGTH ? text : `${text.slice(0, SHOWN_TEXT_LENGTH)}…`;
}
