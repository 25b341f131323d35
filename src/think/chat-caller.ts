// Whoever called `chat()`, while this process lives: the origin of its turn. It is never stored, so a turn that goes on
// after a restart has nobody to ask, and its client tool calls wait for an answer like anybody else's.
import type { ClientToolExecutor } from "./client-tools.ts";

export class ChatCaller {
  readonly onClientToolCall: ClientToolExecutor | undefined;

  constructor(onClientToolCall: ClientToolExecutor | undefined) {
    this.onClientToolCall = onClientToolCall;
  }
}
