// `everthink/tools/extensions`
export {
  createExtensionTools,
  type ExtensionTools,
  type ExtensionToolsOptions,
  type LoadExtensionInput,
  type LoadExtensionOutput
} from "./create-extension-tools.ts";
export type { LoadExtensionApproval, ReviewedExtension } from "./load-approval.ts";
export type { DiffLine } from "./source-diff.ts";
