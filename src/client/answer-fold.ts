// The client's door to the one fold that makes a message of chunks. It is the server's own, pure and without
// dependencies: a second one would sooner or later show something else than what is stored.
export { continueFold, foldChunk, foldedMessage, startFold, type MessageFold } from "../model/message-fold.ts";
export { asMessagePart, isSettledToolPart, isToolPart, toolNameOf, type ToolPart } from "../model/tool-part.ts";
