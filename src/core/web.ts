// `everthink/core/web`: pages and searches of the web.
export { web, type WebMembers } from "../features/web/capability.ts";
