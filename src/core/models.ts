// `everthink/core/models`: several models that stand in for each other.
export { models, type ModelsMembers } from "../features/models/capability.ts";
