// `everthink/core/inspection`: what Studio and other inspectors read.
export { inspection, type InspectionMembers } from "../features/inspection/capability.ts";
