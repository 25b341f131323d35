// `everthink/core/clients`: plain AI SDK clients and the OpenAI-compatible endpoint.
export { plainClients, type PlainChatMembers } from "../features/clients/capability.ts";
