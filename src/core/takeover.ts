// `everthink/core/takeover`: objects that the packages which everthink replaces have written.
export { agentTakeover, thinkTakeover } from "../takeover/capability.ts";
