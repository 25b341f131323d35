// `everthink/tools/extensions`
export {
  createExtensionTools,
  type ExtensionTools,
  type ExtensionToolsOptions,
  type LoadExtensionInput,
  type LoadExtensionOutput
} from "./create-extension-tools.ts";
