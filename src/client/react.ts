// `everthink/react`: the client in a component, and the parts of a chat page.
export { useThink, type UseThinkResult } from "./use-think.ts";
export * from "./parts/index.ts";
