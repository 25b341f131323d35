// `everthink/ai-sdk`
export { toAISDKAgent, type AISDKAgentOptions } from "./agent.ts";
