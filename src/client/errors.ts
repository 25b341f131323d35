// What the client library throws, or rejects with. A failed turn is not among them: that is an outcome, on the screen
// and in the result of `send`.
import { ThinkError } from "../util/errors.ts";

/** The options cannot name an agent. */
export class ClientAddressError extends ThinkError {
  constructor(problem: string) {
    super({ code: "client-address", message: `This is no address of an agent: ${problem}.` });
  }
}

/** Node before 22 has no WebSocket of its own. */
export class NoWebSocketError extends ThinkError {
  constructor() {
    super({
      code: "no-web-socket",
      message: "There is no WebSocket here.",
      hint: 'Pass one: createThinkClient({ WebSocket, ... }), for example that of the package "ws".'
    });
  }
}

/** The client was closed, by the application or for good by the server; then the message says why. */
export class ClientClosedError extends ThinkError {
  constructor(reason = "The client is closed.") {
    super({ code: "client-closed", message: reason, hint: "`connect()` begins anew." });
  }
}

/** The agent refused a command of the user, such as an approval of a call that is no longer open. The message is the agent's. */
export class CommandRefusedError extends ThinkError {
  constructor(message: string) {
    super({ code: "command-refused", message });
  }
}

/** A decision named only a call or a run, and what waits there may have run: who decides has to have seen that. */
export class CallMayHaveRunError extends ThinkError {
  constructor(id: string) {
    super({
      code: "call-may-have-run",
      message: `Nothing was decided: what waits under "${id}" may have run, because the process died in it.`,
      hint: "Find out whether it ran, then pass the entry of `pendingApprovals` (its `mayHaveRun` is true) in place of the id."
    });
  }
}

/** A message, an answer or the arguments of a call are larger than what can be sent at once. */
export class FrameTooLargeError extends ThinkError {
  constructor(limitBytes?: number) {
    super({
      code: "frame-too-large",
      message: limitBytes
        ? `This is too large to be sent: at most ${limitBytes} bytes.`
        : "This is too large to be sent.",
      hint: "Send smaller files, or put them where the agent can fetch them."
    });
  }
}

/** The connection broke before the call was answered: the client cannot tell whether it ran. */
export class CallLostError extends ThinkError {
  constructor(readonly method: string) {
    super({
      code: "call-lost",
      message: `The connection broke while "${method}" was being called; it may have run.`,
      hint: "Calls are never repeated by themselves. Call again if the method may run twice."
    });
  }
}

export class CallTimeoutError extends ThinkError {
  constructor(
    readonly method: string,
    readonly timeoutMs: number
  ) {
    super({ code: "call-timeout", message: `"${method}" was not answered within ${timeoutMs} ms.` });
  }
}

/** The agent answered that the call failed. The message is the agent's. */
export class CallFailedError extends ThinkError {
  constructor(
    readonly method: string,
    message: string
  ) {
    super({ code: "call-failed", message });
  }
}

/** More waits to be sent than the client keeps. */
export class ClientQueueFullError extends ThinkError {
  constructor(what: string, limit: number) {
    super({
      code: "client-queue-full",
      message: `${limit} ${what} are waiting already; wait for some of them to end.`
    });
  }
}

/** There is nothing to edit, to answer again or to decide under this id. */
export class UnknownTargetError extends ThinkError {
  constructor(what: string, id: string | undefined) {
    super({
      code: "unknown-target",
      message: id === undefined ? `There is no ${what}.` : `There is no ${what} "${id}".`
    });
  }
}
