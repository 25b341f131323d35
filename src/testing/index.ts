// The public test kit.
export {
  createTestHost,
  TestHost,
  type AgentClass,
  type Bindings,
  type TestHostOptions,
  type TestWorker
} from "./test-host.ts";
export { TestSocket, type FramePredicate } from "./test-socket.ts";
export { everyCrash, type EveryCrashOptions, type EveryCrashResult } from "./every-crash.ts";
export { CrashChangedOutcome, NoSuchFrame, UpgradeRefused, type CrashDifference } from "./errors.ts";
export { ProcessDied } from "./inprocess/errors.ts";
export { RpcTarget } from "./inprocess/rpc-values.ts";
export { createTestLoader, type TestLoader } from "./inprocess/worker-loader.ts";
export * from "./messengers/index.ts";
export type { Counts } from "./inprocess/crash.ts";
export { skillsFromFolder } from "./skills-from-folder.ts";
export * from "./model/index.ts";
export * from "./chaos/index.ts";
