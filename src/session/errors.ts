// What the session refuses.
import { ThinkError } from "../util/errors.ts";

export class InvalidMessageError extends ThinkError {
  constructor(readonly reason: string) {
    super({
      code: "invalid-message",
      message: `This is not a message: ${reason}.`,
      hint: "A message is { id, role, parts }, with a type on every part."
    });
  }
}

export class UnknownParentError extends ThinkError {
  constructor(readonly parentId: string) {
    super({
      code: "unknown-parent",
      message: `addMessages: parentId "${parentId}" does not exist in this session`,
      hint: "Pass the id of a stored message, null for a new root, or nothing for the latest message."
    });
  }
}

export class SessionInUseError extends ThinkError {
  constructor(readonly method: string) {
    super({
      code: "session-in-use",
      message: `${method}() must be called before the session is first used.`,
      hint: "Configure the session in configureSession, before reading or writing messages."
    });
  }
}

export class SessionHostMissingError extends ThinkError {
  constructor() {
    super({
      code: "session-host-missing",
      message: "Session.create needs an everthink agent or a SessionProvider.",
      hint: "Pass `this` from an Agent or Think subclass, or an object with the methods of SessionProvider."
    });
  }
}
