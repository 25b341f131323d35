// The class that Workers export for the state of messengers, as it is documented. The package's own messengers keep that
// state in the agent's database, beside the events it belongs to, so that both change in one transaction; a `Chat` of the
// Chat SDK that the class runs itself keeps it here.
import { ChatSdkStateAgent } from "../chat-sdk/state-agent.ts";

/**
 * @example
 * export { ThinkMessengerStateAgent } from "everthink/messengers";
 * // In a method of the agent:
 * const state = createChatSdkState({ agent: ThinkMessengerStateAgent });
 */
export class ThinkMessengerStateAgent extends ChatSdkStateAgent {}
