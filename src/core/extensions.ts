// `everthink/core/extensions`: tools and hooks that are loaded at run time.
export { extensions, type ExtensionMembers } from "../features/extensions/capability.ts";
