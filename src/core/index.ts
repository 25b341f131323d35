// `everthink/core`: a conversation without capabilities, and the function that adds those that a class uses.
export { ThinkCore } from "../think/think-core.ts";
export { withCapabilities } from "../feature/with-capabilities.ts";
/** In the declarations of classes that are exported. */
export type { HasBase } from "../util/base-type.ts";
