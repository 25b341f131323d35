// `everthink/extensions`
export { ExtensionError } from "./errors.ts";
export type { ExtensionBlock } from "./context-blocks.ts";
export type { ExtensionConversation, ExtensionFiles, ExtensionMessage } from "./host-bridge.ts";
export { HostBridgeLoopback, type HostBridgeLoopbackProps } from "./loopback.ts";
export {
  ExtensionManager,
  type ExtensionConfig,
  type ExtensionManagerOptions,
  type ExtensionStorage
} from "./manager.ts";
export {
  sanitizeName,
  type ExtensionContext,
  type ExtensionHook,
  type ExtensionInfo,
  type ExtensionManifest
} from "./manifest.ts";
export type { ExtensionToolDescriptor } from "./open-source.ts";
export type { ExtensionPermissions, GrantedPermissions, TurnAccess } from "./permissions.ts";
