// `everthink/extensions`
export { ExtensionError } from "./errors.ts";
export {
  ExtensionManager,
  type ExtensionFiles,
  type ExtensionManagerOptions,
  type ExtensionStorage,
  type ExtensionToolDescriptor
} from "./manager.ts";
export { sanitizeName, type ExtensionInfo, type ExtensionManifest, type ExtensionPermissions } from "./manifest.ts";
