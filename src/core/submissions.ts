// `everthink/core/submissions`: turns that are accepted once and run later.
export { submissions, type SubmissionMembers } from "../features/submissions/capability.ts";
