// `everthink/core/steering`: messages that are given to a running turn, with receipts.
export {
  steering,
  type SteerContext,
  type SteerDecision,
  type SteeringMembers,
  type SteerOptions
} from "../features/steering/capability.ts";
